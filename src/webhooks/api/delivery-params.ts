/** Answers about deliveries, attempts and recorded events (interface 12.5, 12.6). */
import { z } from 'zod';
import { tenantMember } from '#src/contract/event.ts';
import type { LoggedAttempt, LoggedDelivery } from '../log/delivery-log-store.ts';
import { nextTryAnswer, nextTryOf, nextTryView } from '../log/next-try.ts';
import { deliveryStates } from '../queue/delivery-state.ts';
import type { TenantDates } from './endpoint-params.ts';

const instant = z.string().meta({ format: 'date-time' });
const count = z.int().min(0);
const ms = z.int().nullable();

const failures = ['dns', 'connect', 'tls', 'timeout', 'reset', 'status', 'redirect', 'target_refused'] as const;

const timingsAnswer = z
  .object({
    dns: ms.describe('Finding the addresses of the host; null when it was not reached'),
    connect: ms.describe('Connecting; 0 on a kept connection, null when it was not reached'),
    tls: ms.describe('TLS handshake; 0 on a kept connection, null without TLS or when it was not reached'),
    first_byte: ms.describe('From the start to the first byte of the answer; null when there was no answer'),
    total: z.int().describe('The whole attempt'),
  })
  .meta({ id: 'AttemptTimings', description: 'How long the parts of an attempt took, in milliseconds' });

export const attemptAnswer = z
  .object({
    uid: z.string().describe('Identity of the attempt'),
    number: z.int().min(1).describe('1 for the first attempt of the delivery, as in the header x-orderpass-attempt'),
    started_iso: instant.describe('When it began'),
    address: z
      .string()
      .nullable()
      .describe('IP address that was called; null when the attempt ended before one was chosen'),
    timings_ms: timingsAnswer.describe('How long its parts took, in milliseconds'),
    status: z.int().nullable().describe('HTTP status of the answer; null when there was no answer'),
    failure: z
      .enum(failures)
      .nullable()
      .describe(
        'Why it failed. `dns`, `connect`, `tls`: this step; `timeout`: no answer within 15 s; `reset`: the connection was lost; `status`: an answer other than 2xx and 3xx; `redirect`: a 3xx; `target_refused`: an address that may not be called. Null for a success',
      ),
    retry_after: z
      .int()
      .nullable()
      .describe('Seconds that a 429 or 503 asked for in its Retry-After, at most 86,400; null when it asked for none'),
    response: z
      .string()
      .nullable()
      .describe(
        'Start of the body of the answer, at most 16 KiB, with secrets hidden; null without the read scope of the kind of the event. Without an answer: the reason why nothing was sent, or null',
      ),
  })
  .meta({ id: 'Attempt', description: 'One POST of an event to an endpoint' });

const deliveryMembers = {
  uid: z.string().describe('Identity of the delivery, as in the header x-orderpass-delivery'),
  endpoint_uid: z.string().describe('The endpoint that the event is sent to'),
  event_id: z.string().describe('Id of the event, as in the header webhook-id'),
  event: z.string().describe('Name of the event, which says what happened'),
  entity: z.string().describe('Uid of the thing that the event is about; of a digest the id of the event'),
  seq: z.int().describe('`seq` of the event, which rises with every change of the entity'),
  state: z.enum(deliveryStates).meta({
    id: 'DeliveryState',
    description:
      '`pending`: to be sent; `waiting`: an earlier event of the entity is not finished; `succeeded`: the receiver answered 2xx; `exhausted`: all attempts have failed; `cancelled`: it will not be sent, because the endpoint was disabled or removed or its owner may not read the event',
  }),
  attempts_count: count.describe('Attempts that were made'),
  ...nextTryAnswer,
  created: z.string().describe('`created_iso` as a legacy date'),
  created_iso: instant.describe('When it was made'),
  redelivery_uid: z.string().nullable().describe('The redelivery that it is part of; null when there is none'),
};

export const deliveryAnswer = z
  .object(deliveryMembers)
  .meta({ id: 'Delivery', description: 'One event on its way to one endpoint' });

export const wholeDeliveryAnswer = z
  .object({
    ...deliveryMembers,
    body: z
      .string()
      .nullable()
      .describe(
        'Body of the event, byte for byte; null without the read scope of its kind, and when it is no longer kept',
      ),
    attempts: z.array(attemptAnswer).describe('Its attempts, oldest first'),
  })
  .meta({ id: 'DeliveryWithAttempts', description: 'A delivery with the body of its event and its attempts' });

export const countsAnswer = z
  .object({
    pending: count.describe('Deliveries to be sent'),
    waiting: count.describe('Deliveries behind an earlier event of their entity'),
    succeeded: count.describe('Deliveries that the receiver accepted'),
    exhausted: count.describe('Deliveries whose attempts have all failed'),
    cancelled: count.describe('Deliveries that will not be sent'),
  })
  .meta({ id: 'DeliveryCounts', description: 'How many deliveries there are in each state' });

const eventDeliveryAnswer = z
  .object({
    endpoint_uid: deliveryMembers.endpoint_uid,
    state: deliveryMembers.state,
    attempts_count: deliveryMembers.attempts_count,
    ...nextTryAnswer,
  })
  .meta({ id: 'EventDelivery', description: 'The latest delivery of an event to one endpoint' });

export const feedEventAnswer = z
  .object({
    id: z.string().describe('Id of the event, as in the header webhook-id of its deliveries'),
    event: z.string().describe('Name of the event, which says what happened'),
    kind: z.string().describe('Kind of the event, which the tenant switches on or off'),
    entity: z.string().describe('Uid of the thing that the event is about'),
    seq: z.int().describe('Rises with every change of the entity'),
    previous_seq: z
      .int()
      .nullable()
      .describe('`seq` of the event of this entity that was recorded before; null for the first'),
    created: instant.describe('When the event was recorded, in UTC with milliseconds'),
    [tenantMember]: z.string().describe('The tenant'),
    body: z.string().describe('Body of the event, byte for byte as it is sent to endpoints'),
    deliveries: z
      .array(eventDeliveryAnswer)
      .describe('Its latest delivery to each endpoint that the credential sees; empty when it was sent to none'),
  })
  .meta({ id: 'RecordedEvent', description: 'An event as it was recorded, and where it was sent' });

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
