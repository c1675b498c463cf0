/** The cursor of a list of events, in the form that callers hold. */
import { Fault } from '#src/contract/fault.ts';
import type { Place } from './access-path-store.ts';

export const writeCursor = ({ at, chain, seq, use }: Place): string =>
  `${at.getTime()}-${chain}-${seq}${use === undefined ? '' : `-${use}`}`;

/** VALIDATION_ERROR for a malformed cursor. */
export const readCursor = (cursor: string): Place => {
  const [, ms, chain, seq, use] = /^(\d{1,15})-(\d{1,9})-(\d{1,15})(?:-(\d{1,4}))?$/.exec(cursor) ?? [];
  const place = { at: new Date(Number(ms)), chain: Number(chain), seq: Number(seq) };
  if (Number.isNaN(place.at.getTime())) throw new Fault('VALIDATION_ERROR', 'No search gave this cursor');
  return use === undefined ? place : { ...place, use: Number(use) };
};
