/** The most events that one search of the audit returns. */
export const searchLimitMax = 1_000;
