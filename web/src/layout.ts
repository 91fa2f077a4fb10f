// The layout of a document, as package document of the Go sources has it: which
// places there are, in which order, and what their headings say.

import type { Section } from "./events";

export interface Place {
  section: string;
  slot: string;
}

const travelSlots = ["general", "morning", "afternoon", "evening", "night"];
const defaultSlot = "main";

export class Layout {
  readonly kind: "free" | "travel" | "sections";
  private readonly sections: Section[];

  constructor(wire: unknown) {
    const layout = (wire ?? {}) as { kind?: string; sections?: Section[] };
    this.kind = layout.kind === "travel" || layout.kind === "sections" ? layout.kind : "free";
    this.sections = layout.sections ?? [];
  }

  // key is the place as it is compared, as a string for maps.
  key(p: Place): string {
    return this.sectionKey(p.section) + "\u0000" + (this.kind === "free" ? folded(p.slot) : p.slot);
  }

  sectionKey(section: string): string {
    return this.kind === "free" ? folded(section) : section;
  }

  // order sorts places as the document shows them; what it does not know keeps the
  // order of first use.
  order(places: Place[]): Place[] {
    const firstUse = new Map<string, number>();
    const ranked = places.map((place, at) => {
      const section = this.sectionKey(place.section);
      if (!firstUse.has(section)) firstUse.set(section, firstUse.size);
      return { place, at, rank: this.rank(place, firstUse.get(section)!) };
    });
    ranked.sort((a, b) => a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1] || a.at - b.at);
    return ranked.map((r) => r.place);
  }

  private rank(p: Place, firstUse: number): [number, number] {
    switch (this.kind) {
      case "travel":
        return [parseInt(p.section, 10) || 0, travelSlots.indexOf(p.slot)];
      case "sections":
        return [this.sections.findIndex((s) => s.id === p.section), this.slots(p.section).indexOf(p.slot)];
      default:
        return [firstUse, folded(p.slot) === defaultSlot ? 0 : 1];
    }
  }

  private slots(section: string): string[] {
    const declared = this.sections.find((s) => s.id === section);
    return declared?.slots?.length ? declared.slots : [defaultSlot];
  }

  // named is the place that the arguments of a tool call name, undefined where that is not
  // known yet: open is the argument that is being written.
  named(args: Record<string, unknown>, open: string): Place | undefined {
    const names = this.kind === "travel" ? ["day", "time_slot"] : ["section", "slot"];
    if (names.includes(open)) return undefined;
    const [section, slot] = names.map((name) => String(args[name] ?? "").trim());
    if (!section) return undefined;
    switch (this.kind) {
      case "travel":
        return /^\d{1,3}$/.test(section) && travelSlots.includes(slot) ? { section: String(Number(section)), slot } : undefined;
      case "sections": {
        const known = this.slots(section);
        const named = slot || (known.length === 1 ? known[0] : "");
        return this.sections.some((s) => s.id === section) && known.includes(named) ? { section, slot: named } : undefined;
      }
    }
    return { section, slot: slot || defaultSlot };
  }

  sectionTitle(section: string): string {
    switch (this.kind) {
      case "travel":
        return section === "0" ? "General" : "Day " + section;
      case "sections": {
        const declared = this.sections.find((s) => s.id === section);
        if (declared) return declared.title || inWords(section);
      }
    }
    return capitalized(section);
  }

  slotTitle(slot: string): string {
    return this.kind === "free" ? capitalized(slot) : inWords(slot);
  }

  // slotHeading is "" where a heading would say nothing.
  slotHeading(p: Place): string {
    switch (this.kind) {
      case "travel":
        if (p.slot === "general") return "";
        break;
      case "sections": {
        const declared = this.sections.find((s) => s.id === p.section);
        if (declared && (declared.slots?.length ?? 0) < 2) return "";
        break;
      }
      default:
        if (folded(p.slot) === defaultSlot) return "";
    }
    return this.slotTitle(p.slot);
  }
}

const spaces = /[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

// folded is strings.ToLower(strings.Join(strings.Fields(name), " ")) of Go, which
// knows no letters that grow and no final sigma.
function folded(name: string): string {
  const joined = name.split(spaces).filter((word) => word !== "").join(" ");
  let out = "";
  for (const char of joined) {
    const lower = char.toLowerCase();
    out += String.fromCodePoint(lower.codePointAt(0)!);
  }
  return out;
}

function inWords(id: string): string {
  const words = id.split(/[_-]+/).filter((word) => word !== "").join(" ");
  return words === "" ? id : capitalized(words);
}

function capitalized(text: string): string {
  if (text === "") return text;
  const first = String.fromCodePoint(text.codePointAt(0)!);
  const upper = first.toUpperCase();
  // Go maps one letter to one letter: "ß" stays.
  return ([...upper].length === 1 ? upper : first) + text.slice(first.length);
}
