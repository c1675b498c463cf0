/**
 * Hides secrets in a stored response. A receiver may echo the request or its own configuration, and users who may see
 * the endpoint can read the log.
 */

const hidden = '[redacted]';

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

/** `secrets`: values to hide at any position. The result is at most a little longer than `text`. */
export const redactResponse = (text: string, secrets: readonly string[]): string => {
  let result = text;
  for (const secret of secrets) result = result.replaceAll(secret, hidden);
  for (const [pattern, replacement] of patterns) result = result.replace(pattern, replacement);
  return result;
};
