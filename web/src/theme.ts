// Light or dark as the system has it, unless the reader chose.

import { computed, effect, signal } from "@preact/signals";

type Theme = "system" | "light" | "dark";

function stored(): Theme {
  try {
    const value = localStorage.getItem("convene-theme");
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system"; // storage may be forbidden
  }
}

export const theme = signal<Theme>(stored());

const scheme = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(scheme.matches);
scheme.addEventListener("change", () => (systemDark.value = scheme.matches));

// dark is what is shown: canvases are redrawn when it changes.
export const dark = computed(() => (theme.value === "system" ? systemDark.value : theme.value === "dark"));

effect(() => {
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
});

export function cycleTheme(): void {
  theme.value = theme.value === "system" ? "light" : theme.value === "light" ? "dark" : "system";
  try {
    localStorage.setItem("convene-theme", theme.value);
  } catch {
    // Then the choice lasts as long as the page.
  }
}
