/**
 * What a receiver answers is shown to whoever may see its endpoint. A receiver that echoes what it was sent, or its own
 * configuration, would put secrets into that log.
 */

const hidden = '[redacted]';

/**
 * Values that name themselves: our secrets, keys and tokens, JWTs, and what stands behind a telling name. The receiver
 * chooses the text, so a JWT is looked for only where a run of its characters begins: begun anew at each place of a run,
 * the work would grow with the square of its length.
 */
const patterns: readonly [RegExp, string][] = [
  [/whsec_[A-Za-z0-9+/=_-]{12,}/g, hidden],
  [/\bop[ks]_[A-Za-z0-9_-]{12,}/g, hidden],
  [/(?<![\w-])(?=[\w-]*eyJ[\w-]{8})[\w-]{11,}\.[\w-]{8,}\.[\w-]*/g, hidden],
  [/\b(Bearer|Basic) +[A-Za-z0-9._~+/=-]{12,}/gi, `$1 ${hidden}`],
  [/("[a-z_-]{0,32}(?:secret|password|token|api_?key|authorization)"\s{0,8}:\s{0,8})"[^"]{1,4096}"/gi, `$1"${hidden}"`],
];

/** `secrets`: values to hide wherever they stand. The result is at most a little longer than `text`. */
export const redactAnswer = (text: string, secrets: readonly string[]): string => {
  let result = text;
  for (const secret of secrets) result = result.replaceAll(secret, hidden);
  for (const [pattern, replacement] of patterns) result = result.replace(pattern, replacement);
  return result;
};
