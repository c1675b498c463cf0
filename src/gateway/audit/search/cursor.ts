/** The cursor of a list of events, in the form that callers hold. */
import { Fault } from '#src/contract/fault.ts';
import { readEventId } from '../event/event-id.ts';
import type { Place } from './access-path-store.ts';

export const writeCursor = ({ at, chain, seq, use }: Place): string =>
  `${at.getTime()}-${chain}-${seq}${use === undefined ? '' : `-${use}`}`;

/** VALIDATION_ERROR for a malformed cursor. */
export const readCursor = (cursor: string): Place => {
  const [, ms, id = ''] = /^(\d{1,15})-(.+)$/.exec(cursor) ?? [];
  const at = new Date(Number(ms));
  const place = readEventId(id);
  if (place === undefined || Number.isNaN(at.getTime()))
    throw new Fault('VALIDATION_ERROR', 'No search gave this cursor');
  const { chain, seq, use } = place;
  return use === undefined ? { at, chain, seq } : { at, chain, seq, use };
};
