/** Operations on deliveries and on the feed (interface 12.5, 12.6). */
import { z } from 'zod';
import { tenantMember } from '#src/contract/event.ts';
import { Fault } from '#src/contract/fault.ts';
import type { Key } from '#src/platform/db/bounded-list.ts';
import { operation } from '#src/platform/http/operation.ts';
import { cursorParams, pageAnswer } from '#src/platform/http/paging.ts';
import {
  boolean,
  dateTime,
  integer,
  oneOf,
  optional,
  requireOneOf,
  text,
  uid,
  withDefault,
} from '#src/platform/http/values.ts';
import { readDeliveries } from '../log/delivery-list-store.ts';
import {
  type DeliveryFilter,
  findDelivery,
  type LoggedAttempt,
  latestDeliveries,
  listAttempts,
} from '../log/delivery-log-store.ts';
import { listFeed } from '../log/event-feed.ts';
import { nextTryOf, nextTryView } from '../log/next-try.ts';
import { deliveryStates } from '../queue/delivery-state.ts';
import { type Api, readableKinds, scopesOfKinds, viewerOf } from './api.ts';
import {
  attemptView,
  countsAnswer,
  deliveryAnswer,
  deliveryView,
  feedEventAnswer,
  wholeDeliveryAnswer,
} from './delivery-params.ts';
import { kindsOf } from './endpoint-params.ts';
import { redeliveryOperation } from './redelivery-operation.ts';

export const deliveryOperations = (api: Api) => ({
  listDeliveries: listOperation(api),
  readDelivery: readOperation(api),
  redeliver: redeliverOperation(api),
  readRedelivery: redeliveryOperation(api),
  listEvents: feedOperation(api),
});

const name = () => optional(text({ max: 64 }));

const listParams = z.object({
  ...cursorParams,
  endpoint_uid: name().describe('Only deliveries to this endpoint; when absent, to all that the credential sees'),
  event_id: name().describe('Only deliveries of this event'),
  event: name().describe('Only deliveries of events with this name'),
  state: optional(oneOf(deliveryStates)).describe('Only deliveries in this state'),
  redelivery_uid: name().describe('Only deliveries that are part of this redelivery'),
  since: optional(dateTime()).describe(
    'Only deliveries that were made at this time or later; at most 3 decimals in the seconds',
  ),
});

const filterOf = (params: z.infer<typeof listParams>): DeliveryFilter => ({
  endpointUid: params.endpoint_uid,
  eventId: params.event_id,
  event: params.event,
  state: params.state,
  redeliveryUid: params.redelivery_uid,
  since: params.since,
});

const listOperation = (api: Api) =>
  operation({
    method: 'GET',
    path: '/webhook/deliveries',
    summary: 'Deliveries, newest first, and how many there are in each state',
    errors: [],
    params: listParams,
    answer: z.object({
      deliveries: z.array(deliveryAnswer).describe('Newest first'),
      counts: countsAnswer
        .nullable()
        .describe(
          'All deliveries that pass the filters, by state; null, like `total_count`, when they are more than 500',
        ),
      ...pageAnswer,
    }),
    handle: async (input) => {
      const { db, params } = input;
      const viewer = viewerOf(input);
      const filter = filterOf(params);
      const scope = { list: 'deliveries', ...viewer, ...filter, since: filter.since?.toISOString() };
      const query = api.cursors.read<Key>(params, scope);
      const listed = await readDeliveries(db, viewer, filter, query);
      const dates = await api.datesOf(db, viewer.tenant);
      return {
        body: {
          deliveries: listed.rows.map((row) => deliveryView(row, dates, input.now)),
          counts: listed.counts,
          ...api.cursors.answer(query, scope, listed),
        },
      };
    },
  });

/** A receiver may repeat the body in its answer. Without a status the text is the reason why nothing was sent. */
const withoutAnswer = (attempt: LoggedAttempt): LoggedAttempt =>
  attempt.status === null ? attempt : { ...attempt, response: null };

const readOperation = (api: Api) =>
  operation({
    method: 'GET',
    path: '/webhook/delivery',
    summary: 'One delivery with its body and attempts',
    errors: ['NOT_FOUND'],
    params: z.object({ uid: uid().describe('The delivery') }),
    answer: z.object({ delivery: wholeDeliveryAnswer.describe('The delivery with its body and attempts') }),
    handle: async (input) => {
      const { db, params, caller } = input;
      const viewer = viewerOf(input);
      const row = await findDelivery(db, viewer, params.uid);
      if (row === undefined) throw new Fault('NOT_FOUND', 'No such delivery');
      const dates = await api.datesOf(db, viewer.tenant);
      const attempts = await listAttempts(db, row.uid);
      // A digest is no kind of the tenant; it is about the endpoint itself.
      const isReadable = !Object.hasOwn(api.kindScopes, row.kind) || readableKinds(api, caller).includes(row.kind);
      return {
        body: {
          delivery: {
            ...deliveryView(row, dates, input.now),
            body: isReadable ? row.body : null,
            attempts: attempts.map((attempt) => attemptView(isReadable ? attempt : withoutAnswer(attempt), dates)),
          },
        },
      };
    },
  });

const redeliverParams = requireOneOf(
  z.object({
    endpoint_uid: uid().describe('The endpoint that gets the events'),
    event_id: optional(uid()).describe(
      'This event alone, even if it succeeded there; not together with `since` and `until`',
    ),
    since: optional(dateTime()).describe(
      'All events of the kinds of the endpoint from this time on, at most 30 days ago; at most 3 decimals in the seconds',
    ),
    until: optional(dateTime()).describe('With `since`: only events before this time; when absent, all up to now'),
    all: withDefault(boolean(), false).describe(
      'With `since`: true sends also those that succeeded there; false only those that did not, or were never sent',
    ),
  }),
  ['event_id', 'since'],
)
  .superRefine(({ event_id: eventId, since, until }, ctx) => {
    const refuse = (path: string, code: string, message: string): void =>
      ctx.addIssue({ code: 'custom', path: [path], message, params: { code } });
    if (eventId !== undefined) {
      if (since !== undefined) refuse('since', 'CONFLICTING_VALUES', 'cannot be combined with event_id');
      if (until !== undefined) refuse('until', 'CONFLICTING_VALUES', 'cannot be combined with event_id');
    } else if (since !== undefined && until !== undefined && until <= since)
      refuse('until', 'RANGE', 'must be after since');
  })
  .meta({ id: 'RedeliveryRequest', description: 'Recorded events to send again to one endpoint' });

const redeliverOperation = (api: Api) =>
  operation({
    method: 'POST',
    path: '/webhook/redeliver',
    summary: 'Delivers recorded events again to one endpoint: one event, or all since a time',
    addsOnly: true,
    errors: ['NOT_FOUND', 'CONFLICT'],
    params: redeliverParams,
    answer: z.object({
      redelivery: z
        .object({
          uid: z.string().describe('Names the redelivery in webhook/redelivery and webhook/deliveries'),
          queued: z.int().min(0).describe('Events that it has queued so far'),
          state: z
            .enum(['running', 'done'])
            .describe('`running`: further events are being queued; `done`: all are queued'),
        })
        .meta({ id: 'StartedRedelivery', description: 'A redelivery that has begun' })
        .describe('The redelivery and what it has queued'),
    }),
    handle: async (input) => {
      const { db, params, now } = input;
      const { endpoint_uid: endpointUid, event_id: eventId, since, until, all: everything } = params;
      const wanted =
        eventId === undefined ? { endpointUid, since: since ?? now, until, everything } : { endpointUid, eventId };
      return { body: { redelivery: await api.changes.redeliver({ db, viewer: viewerOf(input), now }, wanted) } };
    },
  });

const feedParams = (kinds: readonly string[]) =>
  z
    .object({
      after: optional(text({ max: 2000 })).describe(
        'Only events after this one: the id of an event, or `next_cursor` of the answer before. At most 30 days old',
      ),
      cursor: optional(text({ max: 2000 })).describe('Another name of `after`; not together with it'),
      since: optional(dateTime()).describe('Only events from this time on; at most 3 decimals in the seconds'),
      kinds: optional(kindsOf(kinds)).describe(
        'Only events of these kinds; the read scope of each is needed. When absent, all that the credential may read',
      ),
      event: name().describe('Only events with this name'),
      entity: name().describe('Only events about the thing with this uid'),
      pagesize: withDefault(integer({ min: 1, max: 100 }), 100).describe('Events in one answer, at most'),
    })
    .superRefine(({ after, cursor }, ctx) => {
      if (after === undefined || cursor === undefined) return;
      const message = 'cannot be combined with after';
      ctx.addIssue({ code: 'custom', path: ['cursor'], message, params: { code: 'MIXED_PAGING' } });
    });

const feedOperation = (api: Api) =>
  operation({
    method: 'GET',
    path: '/events/list',
    summary: 'Recorded events, oldest first, to catch up from a known one',
    errors: [],
    params: feedParams(Object.keys(api.kindScopes)),
    answer: z.object({
      events: z.array(feedEventAnswer).describe('Oldest first'),
      pagesize: z.int().describe('Events in one answer, at most, as in the request'),
      more: z
        .boolean()
        .describe('True: further events may follow at once. A page may have fewer than `pagesize`, even none'),
      next_cursor: z.string().describe('Send it as `after` to go on; it is there on the last page too'),
    }),
    scopesOf: ({ kinds }) => scopesOfKinds(api, kinds),
    handle: async (input) => {
      const { db, params, caller, now } = input;
      const { after, cursor, since, event, entity, pagesize } = params;
      const viewer = viewerOf(input);
      const kinds = readableKinds(api, caller, params.kinds);
      const { events, more, nextCursor } = await listFeed(
        { db, cursors: api.cursors },
        {
          tenant: viewer.tenant,
          kinds,
          after:
            after !== undefined
              ? { name: 'after', value: after }
              : cursor !== undefined
                ? { name: 'cursor', value: cursor }
                : undefined,
          since,
          event,
          entity,
          pagesize,
          scope: { list: 'events', tenant: viewer.tenant, kinds: params.kinds?.toSorted(), event, entity },
        },
        now,
      );
      const dates = await api.datesOf(db, viewer.tenant);
      const deliveries = Map.groupBy(
        await latestDeliveries(
          db,
          viewer,
          events.map(({ id }) => id),
        ),
        ({ eventId }) => eventId,
      );
      return {
        body: {
          events: events.map((one) => ({
            id: one.id,
            event: one.event,
            kind: one.kind,
            entity: one.entity,
            seq: one.seq,
            previous_seq: one.previousSeq,
            created: one.created.toISOString(),
            [tenantMember]: one.tenant,
            body: one.body,
            deliveries: (deliveries.get(one.id) ?? []).map((delivery) => ({
              endpoint_uid: delivery.endpointUid,
              state: delivery.state,
              attempts_count: delivery.attemptsCount,
              ...nextTryView(nextTryOf(delivery, now), dates.iso),
            })),
          })),
          pagesize,
          more,
          next_cursor: nextCursor,
        },
      };
    },
  });
