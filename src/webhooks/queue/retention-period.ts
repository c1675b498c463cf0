/** How long events, deliveries and attempts are kept (interface 12.4), in milliseconds. */

export const retentionMs = 30 * 24 * 3_600_000;

/**
 * Rows are dropped this much later: a reader that starts with the oldest event has this time for its next page, without
 * a gap behind the first page.
 */
export const readersGraceMs = 3_600_000;
