/**
 * Reads a chain onwards from where a reader stands. The events of one chain are committed in the sequence of their numbers,
 * so a position per chain never steps over one that is committed late, as a position in time would.
 */
import type { Kysely } from 'kysely';
import { expandEvent, type ShownEvent } from '../event/token-uses.ts';
import { listChainEvents } from './event-store.ts';

/** Numbers that are not there any more, both included: dropped by the retention before this reader came. */
export type Gap = { chain: number; from: number; to: number };

/** `isEnd`: there was nothing more. */
export type ChainPage = { events: ShownEvent[]; gaps: Gap[]; position: number; isEnd: boolean };

/** Events of a page name up to 1,000 requests each; this many are some megabytes at worst. */
const pageEvents = 200;
/** One that stands for many tokens is shown as many; no more are added to so many. */
const shownMax = 4_000;

export const readChain = async (
  db: Kysely<unknown>,
  { chain, anchorSeq }: { chain: number; anchorSeq: number },
  after: number,
): Promise<ChainPage> => {
  const start = Math.max(after, anchorSeq);
  const events = await listChainEvents(db, chain, { seq: start }, pageEvents);
  // The retention may also come between the look at the anchor and this page.
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
