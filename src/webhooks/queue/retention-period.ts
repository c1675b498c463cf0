/** How long events, deliveries and attempts are kept (interface 12.4), in milliseconds. */

export const keptMs = 30 * 24 * 3_600_000;

/**
 * Nothing is dropped so long after that: whoever begins to read with the oldest event has this long for the next page, with
 * no gap behind the first one.
 */
export const readersGraceMs = 3_600_000;
