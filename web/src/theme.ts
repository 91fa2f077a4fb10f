// Light or dark as the system has it, unless the reader chose.

import { computed, effect, signal } from "@preact/signals";

type Theme = "system" | "light" | "dark";

const key = "convene-theme";

// stored is what the reader chose: the server has drawn the page so, as the cookie told it. A
// page from disk asks the browser's storage, which takes longer to open than a page to draw.
function stored(): Theme {
  try {
    const value = document.documentElement.dataset.theme ?? localStorage.getItem(key);
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

// keptSeconds is a year.
const keptSeconds = 31_536_000;

// keep keeps the choice for pages from disk, and for the server.
function keep(): void {
  try {
    localStorage.setItem(key, theme.peek());
    document.cookie = `${key}=${theme.peek()}; path=/; max-age=${theme.peek() === "system" ? 0 : keptSeconds}; samesite=strict`;
  } catch {
    // Then the choice lasts as long as the page.
  }
}

if (theme.peek() !== "system" && !document.documentElement.dataset.theme) keep(); // a choice of before the server was told
effect(() => {
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
});

export function cycleTheme(): void {
  theme.value = theme.value === "system" ? "light" : theme.value === "light" ? "dark" : "system";
  keep();
}
