/** Light, dark, or as the system has it. */
const KEY = "belljar.theme";
const ORDER = ["system", "light", "dark"];

export function chosenTheme() {
  try {
    const kept = localStorage.getItem(KEY) ?? "";
    return ORDER.includes(kept) ? kept : "system";
  } catch {
    return "system";
  }
}

export function applyTheme() {
  document.documentElement.dataset.theme = theme();
}

export function nextTheme() {
  const next = ORDER[(ORDER.indexOf(chosenTheme()) + 1) % ORDER.length];
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // It is then as the system has it, at the next visit.
  }
  document.documentElement.dataset.theme = next === "system" ? systemTheme() : next;
  return next;
}

function systemTheme() {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** The one in force. */
export function theme() {
  const chosen = chosenTheme();
  return chosen === "system" ? systemTheme() : chosen;
}
