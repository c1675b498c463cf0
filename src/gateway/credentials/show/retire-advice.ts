/**
 * Pure: advises whether a live credential can be ended safely. It is safe only when a newer credential was used and
 * this one was not used for longer than a day (a nightly job), than the lifetime of its tokens, and than its own
 * longest pause. In every other case the advice names the reason against it.
 */
export type RetireAdvice =
  /** The client has no other live credential. */
  | 'only_one'
  | 'not_used_yet'
  | 'newest'
  /** No newer credential was used. */
  | 'successor_not_used'
  /** The last use is too recent. */
  | 'used_lately'
  | 'safe';

export type Advised = {
  createdMs: number;
  lastUsedMs: number | null;
  longestGapSeconds: number;
};

const daySeconds = 24 * 3_600;

/**
 * Seconds without use after which ending is safe. `tokenSecondsMax`: longest lifetime of its tokens; 0 for API keys.
 */
export const silentSecondsMin = (longestGapSeconds: number, tokenSecondsMax: number): number =>
  Math.max(tokenSecondsMax, daySeconds, longestGapSeconds);

/** `others`: other live credentials of the client. `isUsable`: false for those that are refused now. */
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

/** The advice as a clause of an English sentence, for the command line. */
export const adviceTexts: Readonly<Record<RetireAdvice, string>> = {
  only_one: 'the only live credential of the client',
  not_used_yet: 'not used yet',
  newest: 'the newest credential of the client',
  successor_not_used: 'no newer credential has been used yet',
  used_lately: 'not silent for long enough',
  safe: 'safe to retire',
};
