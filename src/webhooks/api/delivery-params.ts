/** Answers about deliveries and attempts (interface 12.5). */
import { z } from 'zod';
import type { LoggedAttempt, LoggedDelivery } from '../log/delivery-log-store.ts';
import { nextTryAnswer, nextTryOf, nextTryView } from '../log/next-try.ts';
import { deliveryStates } from '../queue/delivery-state.ts';
import type { TenantDates } from './endpoint-params.ts';

const count = z.int();
const ms = z.int().nullable();

const failures = ['dns', 'connect', 'tls', 'timeout', 'reset', 'status', 'redirect', 'target_refused'] as const;

export const attemptAnswer = z.object({
  uid: z.string(),
  number: z.int(),
  started_iso: z.string(),
  address: z.string().nullable(),
  timings_ms: z.object({ dns: ms, connect: ms, tls: ms, first_byte: ms, total: z.int() }),
  status: z.int().nullable(),
  failure: z.enum(failures).nullable(),
  retry_after: z.int().nullable(),
  response: z.string().nullable(),
});

const deliveryMembers = {
  uid: z.string(),
  endpoint_uid: z.string(),
  event_id: z.string(),
  event: z.string(),
  entity: z.string(),
  seq: z.int(),
  state: z.enum(deliveryStates),
  attempts_count: z.int(),
  ...nextTryAnswer,
  created: z.string(),
  created_iso: z.string(),
  redelivery_uid: z.string().nullable(),
};

export const deliveryAnswer = z.object(deliveryMembers);

export const wholeDeliveryAnswer = z.object({
  ...deliveryMembers,
  body: z.string().nullable(),
  attempts: z.array(attemptAnswer),
});

export const countsAnswer = z.object({
  pending: count,
  waiting: count,
  succeeded: count,
  exhausted: count,
  cancelled: count,
});

export const deliveryView = (row: LoggedDelivery, dates: TenantDates, now: Date): z.infer<typeof deliveryAnswer> => ({
  uid: row.uid,
  endpoint_uid: row.endpointUid,
  event_id: row.eventId,
  event: row.event,
  entity: row.entity,
  seq: row.seq,
  state: row.state,
  attempts_count: row.attemptsCount,
  ...nextTryView(nextTryOf(row, now), dates.iso),
  created: dates.legacy(row.created),
  created_iso: dates.iso(row.created),
  redelivery_uid: row.redeliveryUid,
});

export const attemptView = (row: LoggedAttempt, dates: TenantDates): z.infer<typeof attemptAnswer> => ({
  uid: row.uid,
  number: row.number,
  started_iso: dates.iso(row.started),
  address: row.address,
  timings_ms: {
    dns: row.dnsMs,
    connect: row.connectMs,
    tls: row.tlsMs,
    first_byte: row.firstByteMs,
    total: row.totalMs,
  },
  status: row.status,
  failure: failures.find((failure) => failure === row.failure) ?? null,
  retry_after: row.retryAfterSeconds,
  response: row.response,
});
