/** JSON for reading: lines and indents are added between its tokens, which stay as they are written. */
export const indentJson = (text: string): string => {
  let out = '';
  let depth = 0;
  const newLine = (): string => `\n${'  '.repeat(depth)}`;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    if (token === '{' || token === '[') {
      depth += 1;
      out += token + newLine();
    } else if (token === '}' || token === ']') {
      depth = Math.max(0, depth - 1);
      // Nothing stands in it: on one line.
      out = /[{[]\s*$/.test(out) ? out.trimEnd() + token : out + newLine() + token;
    } else if (token === ',') out += token + newLine();
    else out += token === ':' ? ': ' : token;
  }
  return out;
};
