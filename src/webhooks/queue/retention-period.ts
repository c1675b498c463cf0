/** How long events, deliveries and attempts are kept (interface 12.4), in milliseconds. */
import { dayMs, hourMs } from '#src/platform/clock.ts';

export const retentionMs = 30 * dayMs;

/**
 * Rows are dropped this much later: a reader that starts with the oldest event has this time for its next page, without
 * a gap behind the first page.
 */
export const readersGraceMs = hourMs;
