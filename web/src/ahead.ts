// What the page asked of the server before this script was there.

declare global {
  interface Window {
    // ahead are the answers under way, by what was asked; a page from disk has none.
    ahead?: Map<string, Promise<Response>>;
    // styled is fulfilled once the page's style is there, where the page began without.
    styled?: Promise<void>;
  }
}

// get asks for JSON; once the answer that was asked for ahead is the one.
export function get(path: string): Promise<Response> {
  const answer = window.ahead?.get(path);
  window.ahead?.delete(path);
  return answer ?? fetch(path, { headers: { Accept: "application/json" } });
}
