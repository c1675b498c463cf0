/** A long text in pieces that can be encoded one by one: no character is cut in two. */
export function* textSlices(text: string, characters: number): Generator<string> {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + characters, text.length);
    // The first half of a surrogate pair goes with its second.
    const last = text.charCodeAt(to - 1);
    if (to < text.length && last >= 0xd800 && last <= 0xdbff) to += 1;
    yield text.slice(from, to);
    from = to;
  }
}
