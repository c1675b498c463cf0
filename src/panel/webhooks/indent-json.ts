/** Deeper levels are not indented further, because white space would grow with the square of the depth. */
const indentsMax = 40;

/** The tokens of a JSON text, without white space. */
export const jsonTokens = (text: string): string[] =>
  [...text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)].map(([token]) => token);

/** Formats JSON for reading: only white space between tokens is added, the tokens stay as they are. */
export const indentJson = (text: string): string => {
  const parts: string[] = [];
  let depth = 0;
  let before = '';
  const newLine = (): string => `\n${'  '.repeat(Math.min(depth, indentsMax))}`;
  for (const token of jsonTokens(text)) {
    const closes = token === '}' || token === ']';
    if (closes) depth = Math.max(0, depth - 1);
    // An empty object or list stays on one line.
    const isAfterOpening = before === '{' || before === '[';
    if (closes ? !isAfterOpening : isAfterOpening) parts.push(newLine());
    parts.push(token === ':' ? ': ' : token);
    if (token === ',') parts.push(newLine());
    if (token === '{' || token === '[') depth += 1;
    before = token;
  }
  return parts.join('');
};
