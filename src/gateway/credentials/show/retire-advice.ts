/**
 * Pure: what is known of a live credential that an operator may want to end. "Safe" is said only when a newer credential was
 * used and this one has been silent for longer than anything that it is known to do: for a day, which a nightly job needs,
 * for the life of a token that was issued for it, and for its own longest pause. In every other case the facts are told.
 */
export type RetireAdvice =
  /** There is no live credential beside it. */
  | 'only_one'
  | 'not_used_yet'
  | 'newest'
  /** No newer credential was used. */
  | 'successor_not_used'
  /** It may still be used: it was not silent for long enough. */
  | 'used_lately'
  | 'safe';

export type Advised = {
  createdMs: number;
  lastUsedMs: number | null;
  longestGapSeconds: number;
};

const daySeconds = 24 * 3_600;

/** How long a credential must be silent. `tokenSecondsMax`: longest life of a token that was issued for it, 0 for keys. */
export const silentSecondsMin = (longestGapSeconds: number, tokenSecondsMax: number): number =>
  Math.max(tokenSecondsMax, daySeconds, longestGapSeconds);

/** `others`: live credentials that can take its place; `isUsable` false for those that are refused now. */
export const adviseRetirement = (
  credential: Advised,
  others: readonly (Advised & { isUsable: boolean })[],
  { nowMs, tokenSecondsMax }: { nowMs: number; tokenSecondsMax: number },
): RetireAdvice => {
  const { createdMs, lastUsedMs, longestGapSeconds } = credential;
  if (lastUsedMs === null) return 'not_used_yet';
  if (others.length === 0) return 'only_one';
  const newer = others.filter((other) => other.createdMs > createdMs);
  if (newer.length === 0) return 'newest';
  if (!newer.some((other) => other.isUsable && other.lastUsedMs !== null)) return 'successor_not_used';
  const silentMs = nowMs - lastUsedMs;
  return silentMs > silentSecondsMin(longestGapSeconds, tokenSecondsMax) * 1000 ? 'safe' : 'used_lately';
};

/** The same as a clause of an English sentence, for the command line. */
export const adviceTexts: Readonly<Record<RetireAdvice, string>> = {
  only_one: 'the only live credential of the client',
  not_used_yet: 'not used yet',
  newest: 'the newest credential of the client',
  successor_not_used: 'no newer credential has been used yet',
  used_lately: 'not silent for long enough',
  safe: 'safe to retire',
};
