/**
 * Keeps events, their places in the feed, deliveries and attempts for 30 days (interface 12.4). The tables are
 * partitioned by the week of the event. A week that ended 30 days ago is dropped as a whole from all of them, and the
 * weeks ahead are made. Before that, unfinished deliveries and undispatched events of the week are cancelled, so that
 * nothing waits for them. A removed endpoint goes when no delivery of it is left.
 */
import type { Kysely } from 'kysely';
import { type Clock, dayMs, hourMs } from '#src/platform/clock.ts';
import { eventWeeks } from '#src/platform/db/outbox/outbox.ts';
import { dropWaiting, placeWeeks } from '#src/platform/db/outbox/outbox-queue.ts';
import {
  deleteStrays,
  dropWeek,
  endOfWeek,
  ensureWeek,
  listWeeks,
  type WeeklyTable,
} from '#src/platform/db/outbox/partitions.ts';
import { inTransaction, isTransient } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { deleteRemoved } from '../endpoints/endpoint-store.ts';
import { lockEntityQueues, releaseNext } from '../queue/entity-queue-store.ts';
import { readersGraceMs, retentionMs } from '../queue/retention-period.ts';
import { dropRedeliveries } from '../redeliver/redelivery-store.ts';
import { cancelPiece, findBefore } from './cancel-store.ts';

type RetainDeps = { db: Kysely<unknown>; clock: Clock; log: Logger };

const deliveryWeeks: WeeklyTable = {
  schema: 'webhooks',
  name: 'deliveries',
  key: 'event_id',
  prefix: 'evt',
};
const attemptWeeks: WeeklyTable = { ...deliveryWeeks, name: 'attempts' };

/** In the order in which they are dropped: a row goes before the row that it refers to. */
const tables = [attemptWeeks, deliveryWeeks, placeWeeks, eventWeeks];

/** chosen: two weeks of partitions exist in advance, also when this fails for days. */
const weeksAhead = 2;
const everyMs = hourMs;
/** chosen: rows in one transaction, so that it stays short. */
const pieceMax = 500;
const straysMax = 1_000;
/** chosen: by then whatever found the endpoint before it was removed has ended. */
const removedMs = dayMs;

export const createDeliveryRetention = (deps: RetainDeps): Service => ({
  name: 'webhook-retention',
  run: async (signal) => {
    while (!signal.aborted) {
      try {
        await retain(deps, signal);
      } catch (error) {
        if (!isTransient(error)) throw error;
        // A transaction that reads a week to be dropped holds its lock; the next try is in an hour.
        deps.log.warn(
          { err: error },
          'weekly partitions of deliveries could not be created or dropped; trying again in an hour',
        );
      }
      await pause(everyMs, signal);
    }
  },
});

/** Returns the weeks that were dropped. */
export const retain = async ({ db, clock, log }: RetainDeps, signal: AbortSignal): Promise<number[]> => {
  const now = clock.now();
  for (let week = 0; week <= weeksAhead; week += 1) {
    const moment = new Date(now.getTime() + week * 7 * dayMs);
    for (const table of tables) await inTransaction(db, (tx) => ensureWeek(tx, table, moment));
  }
  const before = new Date(now.getTime() - retentionMs - readersGraceMs);
  const over = new Set<number>();
  for (const table of tables)
    for (const week of await listWeeks(db, table)) if (endOfWeek(week) <= before) over.add(week);
  const dropped = [...over].sort((left, right) => left - right);
  await cancelBefore(db, before, now, signal);
  while (!signal.aborted && (await dropWaiting(db, before, straysMax)) === straysMax);
  for (const week of dropped) if (!signal.aborted) await dropOne(db, week);
  for (const table of tables)
    while (!signal.aborted && (await deleteStrays(db, table, before, straysMax)) === straysMax);
  await dropRedeliveries(db, before);
  const removedBefore = new Date(now.getTime() - removedMs);
  while (!signal.aborted && (await deleteRemoved(db, removedBefore, pieceMax)) === pieceMax);
  if (dropped.length > 0) log.info({ weeks: dropped }, 'events and deliveries older than 30 days were dropped');
  return dropped;
};

/** One table after the other: an interruption leaves deliveries without attempts, never attempts without a delivery. */
const dropOne = async (db: Kysely<unknown>, week: number): Promise<void> => {
  for (const table of tables) await inTransaction(db, (tx) => dropWeek(tx, table, week));
};

/** Cancels unfinished deliveries of events from before, in pieces. */
const cancelBefore = async (db: Kysely<unknown>, before: Date, now: Date, signal: AbortSignal): Promise<void> => {
  for (let count = pieceMax; count > 0 && !signal.aborted; ) {
    count = await inTransaction(db, async (tx) => {
      const piece = await findBefore(tx, before, now, pieceMax);
      await lockEntityQueues(tx, piece);
      const cancelled = await cancelPiece(tx, piece, now);
      await releaseNext(tx, piece, now);
      return cancelled;
    });
  }
};
