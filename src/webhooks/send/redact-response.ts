/**
 * Hides secrets in a stored response. A receiver may echo the request or its own configuration, and users who may see
 * the endpoint can read the log.
 */

const hidden = '[redacted]';

/** Interface 12.5, attempt. */
export const responseBytesMax = 16 * 1024;

/**
 * Values that are recognised by their form: Orderpass secrets, keys and tokens, JWTs, and the value behind a telling
 * name. The receiver chooses the text, so a JWT is only looked for at the start of a run of its characters. A search at
 * each position of a run would take time that grows with the square of its length.
 */
const patterns: readonly [RegExp, string][] = [
  [/whsec_[A-Za-z0-9+/=_-]{12,}/g, hidden],
  [/\bop[ks]_[A-Za-z0-9_-]{12,}/g, hidden],
  [/(?<![\w-])(?=[\w-]*eyJ[\w-]{8})[\w-]{11,}\.[\w-]{8,}\.[\w-]*/g, hidden],
  [/\b(Bearer|Basic) +[A-Za-z0-9._~+/=-]{12,}/gi, `$1 ${hidden}`],
  [/("[a-z_-]{0,32}(?:secret|password|token|api_?key|authorization)"\s{0,8}:\s{0,8})"[^"]{1,4096}"/gi, `$1"${hidden}"`],
];

/** `secrets`: values to hide at any position, also where JSON, a URL or HTML escapes them. At most as long as a response. */
export const redactResponse = (text: string, secrets: readonly string[]): string => {
  let result = hideValues(text, secrets);
  for (const [pattern, replacement] of patterns) result = result.replace(pattern, replacement);
  return cutResponse(result);
};

/** The start of the text, within the bound in UTF-8. */
export const cutResponse = (text: string): string => {
  if (Buffer.byteLength(text) <= responseBytesMax) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(responseBytesMax));
  return text.slice(0, read);
};

type Range = [start: number, end: number];

const hideValues = (text: string, secrets: readonly string[]): string => {
  if (secrets.length === 0) return text;
  // Most responses escape nothing, and reading each character would take longer than the rest.
  const ranges = [...rangesOf(text, secrets), ...(/[\\%&]/.test(text) ? escapedRangesOf(text, secrets) : [])];
  let result = '';
  let done = 0;
  for (const [start, end] of ranges.toSorted(([one], [other]) => one - other)) {
    // Nothing lies between two that touch or overlap.
    if (start > done || done === 0) result += text.slice(done, start) + hidden;
    done = Math.max(done, end);
  }
  return result + text.slice(done);
};

/** Where the text has a secret with escapes. */
const escapedRangesOf = (text: string, secrets: readonly string[]): Range[] => {
  const plain = unescaped(text.replace(unfinished, ''));
  const endOf = (index: number): number | undefined =>
    index === plain.text.length ? text.length : plain.starts[index];
  // A secret may itself look like an escape, so both forms of it are searched.
  const forms = new Set([...secrets, ...secrets.map((secret) => unescaped(secret).text)]);
  return rangesOf(plain.text, forms).flatMap(([start, end]): Range[] => {
    const [from, to] = [plain.starts[start], endOf(end)];
    return from === undefined || to === undefined ? [] : [[from, to]];
  });
};

/** chosen: a shorter start of a secret at the end of a text could be anything. */
const partCharsMin = 8;

const rangesOf = (text: string, secrets: Iterable<string>): Range[] => {
  const ranges: Range[] = [];
  for (const secret of secrets) {
    for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + secret.length))
      ranges.push([at, at + secret.length]);
    // A response is stored up to a bound that may lie within the secret.
    let part = Math.min(secret.length, text.length);
    while (part >= partCharsMin && !text.endsWith(secret.slice(0, part))) part -= 1;
    if (part >= partCharsMin) ranges.push([text.length - part, text.length]);
  }
  return ranges;
};

/** One visible ASCII character: `\u002f` and `%2F`, `&#x2F;`, `&#47;`, `\/`, `&quot;`. */
const escaped =
  /(?:\\u00|%)([2-7][0-9a-f])|&#x([2-7][0-9a-f]);|&#(3[2-9]|[4-9][0-9]|1[01][0-9]|12[0-6]);|\\(["\\/])|&(quot|amp|apos|lt|gt);/gi;
/** The start of one, where the stored part ends. */
const unfinished = /(?:\\(?:u0{0,2}[2-7]?)?|%[2-7]?|&(?:#?x?[0-9a-f]{0,3}|[a-z]{1,4}))$/i;
const named: Readonly<Record<string, string>> = { quot: '"', amp: '&', apos: "'", lt: '<', gt: '>' };

/** `starts`: where in the given text each character of the result begins. */
const unescaped = (given: string): { text: string; starts: number[] } => {
  const starts: number[] = [];
  let text = '';
  let done = 0;
  const copyTo = (end: number): void => {
    text += given.slice(done, end);
    for (; done < end; done += 1) starts.push(done);
  };
  for (const match of given.matchAll(escaped)) {
    const [whole, inText, inHtml, decimal, char, name = ''] = match;
    copyTo(match.index);
    const hex = inText ?? inHtml;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    text += char ?? named[name.toLowerCase()] ?? String.fromCharCode(code);
    starts.push(done);
    done += whole.length;
  }
  copyTo(given.length);
  return { text, starts };
};
