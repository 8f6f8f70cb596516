/** A line or two over the last minutes. */
import { html, useEffect, useRef } from "../lib/view.js";

/**
 * @param {{title: string, unit: string, times: number[], series: {label: string, tone: string, values: (number | null)[]}[], format: (n: number) => string}} props
 */
export function Plot({ title, times, series, format }) {
  const host = useRef(/** @type {HTMLElement | null} */ (null));
  const plot = useRef(/** @type {any} */ (null));
  const data = [times, ...series.map((s) => s.values)];
  useEffect(() => {
    let gone = false;
    /** @type {ResizeObserver | null} */
    let observer = null;
    import("../plot.js").then(({ uPlot }) => {
      const box = host.current;
      if (gone || !box) return;
      const colour = (/** @type {string} */ name) => getComputedStyle(box).getPropertyValue(name).trim();
      const resolve = (/** @type {string} */ tone) => {
        const probe = document.createElement("i");
        probe.className = `tone-${tone}`;
        box.append(probe);
        const value = getComputedStyle(probe).color;
        probe.remove();
        return value;
      };
      const faint = resolve("faint");
      const axis = { stroke: faint, font: `11px ${colour("--sans")}`, grid: { stroke: resolve("line"), width: 1 }, ticks: { show: false } };
      plot.current = new uPlot(
        {
          width: Math.max(200, box.clientWidth), height: 148, legend: { show: false }, cursor: { y: false, points: { size: 6 } }, padding: [8, 8, 0, 0],
          scales: { x: { time: true, range: (/** @type {any} */ _u, /** @type {number | null} */ min, /** @type {number | null} */ max) => (min === null || max === null || min === max ? [Date.now() / 1000 - 60, Date.now() / 1000] : [min, max]) }, y: { range: (/** @type {any} */ _u, /** @type {number} */ _min, /** @type {number} */ max) => [0, max > 0 ? max * 1.15 : 1] } },
          axes: [{ ...axis, size: 28, space: 80, values: (/** @type {any} */ _u, /** @type {number[]} */ list) => list.map((t) => new Date(t * 1000).toTimeString().slice(0, 8)) }, { ...axis, size: 56, space: 32, values: (/** @type {any} */ _u, /** @type {number[]} */ list) => list.map(format) }],
          series: [{}, ...series.map((s) => ({ label: s.label, stroke: resolve(s.tone), width: 1.5, points: { show: false }, spanGaps: false }))],
        },
        /** @type {any} */ (data),
        box,
      );
      observer = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(200, box.clientWidth), height: 148 }));
      observer.observe(box);
    });
    return () => {
      gone = true;
      observer?.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [document.documentElement.dataset.theme]);
  useEffect(() => plot.current?.setData(data), [times]);
  const last = series.map((s) => [...s.values].reverse().find((v) => v !== null));
  return html`<figure class="plot card"><figcaption class="plot-head"><span>${title}</span><span class="grow"></span>${series.map((s, n) => html`<span class="small tabular"><i class="key tone-${s.tone}"></i>${series.length > 1 ? `${s.label} ` : ""}${last[n] === undefined || last[n] === null ? "–" : format(/** @type {number} */ (last[n]))}</span>`)}</figcaption><div ref=${host} class="plot-body" role="img" aria-label="${title}: ${last[0] === undefined || last[0] === null ? "nothing yet" : format(/** @type {number} */ (last[0]))}"></div></figure>`;
}
