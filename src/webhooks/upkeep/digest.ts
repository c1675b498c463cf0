/**
 * Sends `webhook.digest` (interface 12.5) each hour to endpoints that ask for it: how many events of each of their
 * kinds were recorded in the hour before, and a hash of their ids. A digest is a delivery for one endpoint. The next
 * hour is stored with the endpoint and moves on in the transaction that makes the delivery. So each hour is sent once,
 * by however many workers, also after a time without any.
 */
import { createHash } from 'node:crypto';
import type { Kysely } from 'kysely';
import { buildEventBody } from '#src/contract/event.ts';
import { type Clock, hourMs, minuteMs } from '#src/platform/clock.ts';
import { digestEvents, type KindDigest, oldestWriterSeconds } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { createWake } from '#src/platform/wake.ts';
import {
  areDigestsAsked,
  beginDigests,
  claimDigests,
  type DueDigest,
  endDigests,
  insertDigestDelivery,
  moveDigestOn,
} from './digest-store.ts';

type DigestDeps = { db: Kysely<unknown>; clock: Clock; onDeliveries: () => void };

/** chosen: events recorded at the end of the hour are committed after this time. */
const settleMs = 60_000;
/** chosen: longest wait for a transaction that began before the end of the hour and may still record events in it. */
const writersMsMax = 10 * minuteMs;
/** chosen: hours without a running worker for which digests are sent later. */
const catchUpHoursMax = 24;
/** chosen: how late a digest may be after its hour has settled. */
const pollMs = 15_000;
/** chosen: digests in one transaction. */
const batchMax = 200;

/** The kind of the event. It is no kind of a tenant, so no endpoint can subscribe to it. */
export const digestKind = 'webhook';

export const createDigest = ({ db, clock, onDeliveries }: DigestDeps): Service => ({
  name: 'webhook-digest',
  run: async (signal) => {
    const wake = createWake(signal);
    while (!signal.aborted) {
      const sent = await digestOnce(db, clock.now());
      if (sent > 0) onDeliveries();
      else await wake.wait(pollMs);
    }
  },
});

/** Returns how many digests were made. */
const digestOnce = async (db: Kysely<unknown>, now: Date): Promise<number> => {
  if (!(await areDigestsAsked(db))) return 0;
  await endDigests(db);
  await beginDigests(db, hourOf(now));
  const settled = now.getTime() - settleMs;
  const writersMs = (await oldestWriterSeconds(db)) * 1000;
  const end = new Date(writersMs > writersMsMax ? settled : Math.min(settled, now.getTime() - writersMs));
  return inTransaction(db, async (tx) => {
    const due = await claimDigests(tx, hourOf(end), batchMax);
    const hours = Map.groupBy(due, (digest) => firstHour(digest, now).getTime());
    for (const [fromMs, digests] of hours) await sendDigests(tx, new Date(fromMs), digests, now);
    return due.length;
  });
};

const hourOf = (moment: Date): Date => new Date(Math.floor(moment.getTime() / hourMs) * hourMs);

/** Leaves out hours that are too long ago; `previous_seq` shows the gap. */
const firstHour = ({ nextFrom }: DueDigest, now: Date): Date =>
  new Date(Math.max(nextFrom.getTime(), hourOf(now).getTime() - catchUpHoursMax * hourMs));

/** Reads the events of the hour once for all digests. */
const sendDigests = async (
  tx: Kysely<unknown>,
  from: Date,
  digests: readonly DueDigest[],
  now: Date,
): Promise<void> => {
  const to = new Date(from.getTime() + hourMs);
  const tenants = [...new Set(digests.map(({ tenant }) => tenant))];
  const found = Map.groupBy(await digestEvents(tx, { tenants, from, to }), ({ tenant }) => tenant);
  const seq = from.getTime() / hourMs;
  for (const { endpointUid, tenant, kinds, lastSeq } of digests) {
    const id = newId('evt', now.getTime());
    const body = buildEventBody({
      event: 'webhook.digest',
      object: 'digest',
      value: { from: from.toISOString(), to: to.toISOString(), kinds: kindsOf(kinds, found.get(tenant) ?? []) },
      id,
      created: now,
      tenant,
      seq,
      previousSeq: lastSeq,
    });
    const uid = newId('dlv', now.getTime());
    await insertDigestDelivery(tx, { tenant, endpointUid, uid, eventId: id, kind: digestKind, seq, body }, now);
    await moveDigestOn(tx, endpointUid, { nextFrom: to, lastSeq: seq });
  }
};

const ofNothing = createHash('sha256').update('').digest('hex');

/** Kinds without events are listed too, with a count of 0. */
const kindsOf = (kinds: readonly string[], found: readonly KindDigest[]) => {
  const byKind = new Map(found.map(({ kind, count, sha256 }) => [kind, { count, sha256 }]));
  return Object.fromEntries(kinds.map((kind) => [kind, byKind.get(kind) ?? { count: 0, sha256: ofNothing }]));
};
