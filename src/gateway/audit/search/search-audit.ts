/** Searches the audit for an operator. An event with the actor and the filter is written before anything is read. */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { findEvent, listNewest } from '../chain/event-store.ts';
import { markSigned } from '../chain/mark-signed.ts';
import { readEventId } from '../event/event-id.ts';
import { type FoundEvent, toFound } from '../event/found-event.ts';
import { expandEvent } from '../event/token-uses.ts';
import { appendChange } from '../record/append-change.ts';
import { readCursor, writeCursor } from './cursor.ts';
import { type AskedFilter, resolveFilter } from './issued-use.ts';
import { searchEvents } from './search-store.ts';

export type AuditReaderDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'derive'>;
  clock: Clock;
  actor: string;
  /** Network address of the reader, when it is known. */
  address?: string;
};

export type FoundAudit = {
  /** Newest first. */
  events: readonly FoundEvent[];
  /** Cursor for the next page of older events; undefined at the end. */
  next: string | undefined;
  /**
   * Time at which the search stopped before the page was full, because it had read many events that do not match. Older
   * events are found with `next`. Otherwise undefined.
   */
  searchedTo: Date | undefined;
};

/** VALIDATION_ERROR for a malformed cursor, or when the filter contains a credential. */
export const searchAudit = async (
  deps: AuditReaderDeps,
  { filter, before, limit }: { filter: AskedFilter; before?: string | undefined; limit: number },
): Promise<FoundAudit> => {
  assertNoCredential(filter);
  const place = before === undefined ? undefined : readCursor(before);
  await noteAuditRead(deps, { read: 'search', filter, before, limit });
  const found = await searchEvents(deps.db, await resolveFilter(deps.db, filter), place, limit);
  return {
    events: (await markSigned(deps, found.events)).map(toFound),
    next: found.next && writeCursor(found.next),
    searchedTo: found.searchedTo,
  };
};

/**
 * `id`: as a search shows it, or `chain-seq` as `audit verify` shows it, which may represent several tokens.
 * Undefined: the event does not exist, or the retention dropped it.
 */
export const findAuditEvent = async (deps: AuditReaderDeps, id: string): Promise<FoundEvent | undefined> => {
  const place = readEventId(id);
  if (place === undefined) return undefined;
  await noteAuditRead(deps, { read: 'event', event: id });
  const event = await findEvent(deps.db, place.chain, place.seq);
  const shown = place.use === undefined ? event : event && expandEvent(event).find(({ use }) => use === place.use);
  return shown && (await markSigned(deps, [shown])).map(toFound)[0];
};

/**
 * Position of the newest event that is not a reading, without its content. '' when the newest events are all readings.
 */
export const newestEvent = async (db: Kysely<unknown>): Promise<string> => {
  const newest = await listNewest(db, newestRead);
  const event = newest.find(({ action }) => action !== 'audit.read');
  return event === undefined ? '' : `${event.chain}-${event.seq}`;
};

const newestRead = 20;

/** Records a reading of the audit. `details`: the request. `subject`: the credential that is read about. */
export const noteAuditRead = (
  { db, box, clock, actor, address }: AuditReaderDeps,
  details: Readonly<Record<string, unknown>>,
  subject: { fingerprint?: string | null; client_id?: string | null; credential_id?: string | null } = {},
): Promise<void> =>
  inTransaction(db, (tx) =>
    appendChange(tx, box, clock.now(), {
      action: 'audit.read',
      actor,
      address: address ?? null,
      ...subject,
      details: JSON.stringify(details),
    }),
  );

/** Refuses a filter with a credential, because the filter is recorded in the audit. */
export const assertNoCredential = (filter: AskedFilter): void => {
  for (const value of Object.values(filter)) {
    if (typeof value === 'string' && credential.test(value)) {
      throw new Fault('VALIDATION_ERROR', 'This is a credential, not the id of one; use `audit who` for it');
    }
  }
};

/**
 * A key or secret (credential-values.ts) or a token, also within other text, such as `Bearer …`. A token begins with `{"` in
 * base64url; the name of a route may also have three parts.
 */
const credential = /op[ks]_(?:test_)?[0-9A-Za-z]{12}_[0-9A-Za-z]{49}|(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]+/;
