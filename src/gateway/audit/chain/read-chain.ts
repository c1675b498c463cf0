/**
 * Reads the next events of a chain after the position of a reader. The events of one chain are committed in the
 * sequence of their numbers, so a position per chain misses no event. A position in time would skip events that are
 * committed late.
 */
import type { Kysely } from 'kysely';
import { expandEvent, type ShownEvent } from '../event/token-uses.ts';
import { listChainEvents } from './event-store.ts';

/** Numbers of events, both included, that the retention dropped before this reader got to them. */
export type Gap = { chain: number; from: number; to: number };

/** `isEnd`: the chain has no further events. */
export type ChainPage = { events: ShownEvent[]; gaps: Gap[]; position: number; isEnd: boolean };

/** An event lists up to 1,000 request ids, so a page takes some megabytes at most. */
const pageEvents = 200;
/** A stored event of many tokens becomes many events; a page with this many takes no further stored event. */
const shownMax = 4_000;

export const readChain = async (
  db: Kysely<unknown>,
  { chain, anchorSeq }: { chain: number; anchorSeq: number },
  after: number,
): Promise<ChainPage> => {
  const start = Math.max(after, anchorSeq);
  const events = await listChainEvents(db, chain, { seq: start }, pageEvents);
  // The retention may run between the reading of the anchor and of this page.
  const reached = (events[0]?.seq ?? start + 1) - 1;
  const gaps = reached > after ? [{ chain, from: after + 1, to: reached }] : [];
  const shown: ShownEvent[] = [];
  let position = start;
  for (const event of events) {
    if (shown.length >= shownMax) break;
    shown.push(...expandEvent(event));
    position = event.seq;
  }
  const isEnd = events.length < pageEvents && position === (events.at(-1)?.seq ?? start);
  return { events: shown, gaps, position, isEnd };
};
