/** Pages through the audit for an operator. That it was asked, by whom and for what, is written first. */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { isApiKey, isClientSecret } from '../../model/credential-values.ts';
import { findEvent, listNewest } from '../chain/event-store.ts';
import { markSigned } from '../chain/mark-signed.ts';
import { toEcs } from '../event/event.ts';
import { expandEvent } from '../event/token-uses.ts';
import { appendChange } from '../record/append-change.ts';
import { readPlace, writePlace } from './cursor.ts';
import { type AskedFilter, resolveFilter } from './issued-use.ts';
import { searchEvents } from './search-store.ts';

export type AuditReaderDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'derive'>;
  clock: Clock;
  actor: string;
  /** Where the reader is, when that is known. */
  address?: string;
};

export type FoundAudit = {
  /** Names of the Elastic Common Schema, newest first. */
  events: readonly Record<string, unknown>[];
  /** For the page of older events; null at the end. */
  next_cursor: string | null;
  /**
   * Time at which the search stopped before the page was full, because it had looked through many events that do not fit.
   * What is older is found behind `next_cursor` only. Otherwise null.
   */
  searched_to: string | null;
};

export const searchLimitMax = 1_000;

/** VALIDATION_ERROR for a cursor that no search gave, or when a credential itself stands in the filter. */
export const searchAudit = async (
  deps: AuditReaderDeps,
  { filter, before, limit }: { filter: AskedFilter; before?: string | undefined; limit: number },
): Promise<FoundAudit> => {
  assertNoCredential(filter);
  const place = before === undefined ? undefined : readPlace(before);
  await noteAuditRead(deps, { read: 'search', filter, before, limit });
  const found = await searchEvents(deps.db, await resolveFilter(deps.db, filter), place, limit);
  return {
    events: (await markSigned(deps, found.events)).map(toEcs),
    next_cursor: found.next === undefined ? null : writePlace(found.next),
    searched_to: found.searchedTo?.toISOString() ?? null,
  };
};

/**
 * `id`: `event.id` of the event, or what it stands in with others, as `audit verify` names it. Undefined: there is no such
 * event, or not any more.
 */
export const findAuditEvent = async (
  deps: AuditReaderDeps,
  id: string,
): Promise<Record<string, unknown> | undefined> => {
  const [, chain, seq, use] = /^(\d{1,9})-(\d{1,15})(?:-(\d{1,4}))?$/.exec(id) ?? [];
  if (chain === undefined || seq === undefined) return undefined;
  await noteAuditRead(deps, { read: 'event', event: id });
  const event = await findEvent(deps.db, Number(chain), Number(seq));
  const shown = use === undefined ? event : event && expandEvent(event).find((one) => one.use === Number(use));
  return shown && (await markSigned(deps, [shown])).map(toEcs)[0];
};

/** Names the newest event that is no reading; nothing of it is told. '' when there is none among the newest. */
export const newestEvent = async (db: Kysely<unknown>): Promise<string> => {
  const newest = await listNewest(db, newestRead);
  const event = newest.find(({ action }) => action !== 'audit.read');
  return event === undefined ? '' : `${event.chain}-${event.seq}`;
};

const newestRead = 20;

/** Durable before anything is read. `details`: what was asked. */
export const noteAuditRead = (
  { db, box, clock, actor, address }: AuditReaderDeps,
  details: Readonly<Record<string, unknown>>,
): Promise<void> =>
  inTransaction(db, (tx) =>
    appendChange(tx, box, clock.now(), {
      ...{ action: 'audit.read', actor, address: address ?? null, details: JSON.stringify(details) },
    }),
  );

/** The filter goes into the audit, where no secret and no token may stand. */
export const assertNoCredential = (filter: AskedFilter): void => {
  for (const value of Object.values(filter)) {
    if (typeof value === 'string' && isCredential(value)) {
      throw new Fault('VALIDATION_ERROR', 'This is a credential, not a name of one; give it to `audit who`');
    }
  }
};

/** A token begins with `{"`; names of routes may have three parts, too. */
const isCredential = (value: string): boolean =>
  isApiKey(value) || isClientSecret(value) || /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/.test(value);
