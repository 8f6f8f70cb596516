/** Plots of what the server counts, loaded where there is one. */
import uPlot from "uplot";
export { uPlot };
