/** Operations on endpoints (interface 12.5). */
import type { Kysely } from 'kysely';
import { z } from 'zod';
import { Fault } from '#src/contract/fault.ts';
import type { Key } from '#src/platform/db/bounded-list.ts';
import { enabledKinds } from '#src/platform/db/outbox/outbox.ts';
import { operation, tenantOf } from '#src/platform/http/operation.ts';
import { cursorParams, pageAnswer } from '#src/platform/http/paging.ts';
import { boolean, integer, optional, uid, withDefault } from '#src/platform/http/values.ts';
import type { Viewer } from '../endpoints/endpoint.ts';
import { findWatchedEndpoint, listEndpoints, type WatchedEndpoint } from '../endpoints/endpoint-store.ts';
import { type Api, readableKinds, scopesOfKinds, viewerOf } from './api.ts';
import { attemptAnswer, attemptView } from './delivery-params.ts';
import {
  createParams,
  endpointAnswer,
  endpointChangesOf,
  endpointView,
  givenSecret,
  newEndpointOf,
  updateParams,
} from './endpoint-params.ts';

const one = z.object({ endpoint: endpointAnswer.describe('The endpoint as it is now') });
const whoseParams = z.object({ uid: uid().describe('The endpoint') });

const enabledKindsAnswer = (kinds: readonly string[]) =>
  z
    .object(
      Object.fromEntries(
        kinds.map((kind) => [kind, z.boolean().describe(`True: events of the kind \`${kind}\` are recorded and sent`)]),
      ),
    )
    .meta({ id: 'EnabledKinds', description: 'Which kinds of events the tenant has switched on' });

export const endpointOperations = (api: Api) => ({
  listEndpoints: listOperation(api),
  readEndpoint: readOperation(api),
  createEndpoint: createOperation(api),
  updateEndpoint: updateOperation(api),
  removeEndpoint: removeOperation(api),
  rotateSecret: rotateOperation(api),
  testEndpoint: testOperation(api),
});

const noEndpoint = (): Fault => new Fault('NOT_FOUND', 'No such endpoint');

const viewed = async (api: Api, db: Kysely<unknown>, viewer: Viewer, rows: readonly WatchedEndpoint[], now: Date) => {
  const dates = await api.datesOf(db, viewer.tenant);
  return rows.map((row) => endpointView(row, { dates, now, signatureHeader: api.signatureHeader }));
};

/** The endpoint as it is now. Throws NOT_FOUND. */
const showOne = async (api: Api, db: Kysely<unknown>, viewer: Viewer, uidOfOne: string, now: Date) => {
  const row = await findWatchedEndpoint(db, viewer, uidOfOne);
  if (row === undefined) throw noEndpoint();
  const [endpoint] = await viewed(api, db, viewer, [row], now);
  if (endpoint === undefined) throw new Error('the view of an endpoint is missing');
  return endpoint;
};

const listOperation = (api: Api) =>
  operation({
    method: 'GET',
    path: '/webhook/endpoints',
    summary: 'Endpoints, newest first, and the kinds of events that are on',
    errors: [],
    params: z.object(cursorParams),
    answer: z.object({
      endpoints: z.array(endpointAnswer).describe('Newest first'),
      kinds_enabled: enabledKindsAnswer(Object.keys(api.kindScopes)).describe(
        'The switches of the tenant; while a kind is off, its events are neither recorded nor sent',
      ),
      ...pageAnswer,
    }),
    handle: async (input) => {
      const { db, params, now } = input;
      const viewer = viewerOf(input);
      const scope = { list: 'endpoints', ...viewer };
      const query = api.cursors.read<Key>(params, scope);
      const listed = await listEndpoints(db, viewer, query);
      const on = await enabledKinds(db, viewer.tenant);
      return {
        body: {
          endpoints: await viewed(api, db, viewer, listed.rows, now),
          kinds_enabled: Object.fromEntries(Object.keys(api.kindScopes).map((kind) => [kind, on[kind] ?? false])),
          ...api.cursors.answer(query, scope, listed),
        },
      };
    },
  });

const readOperation = (api: Api) =>
  operation({
    method: 'GET',
    path: '/webhook/endpoint',
    summary: 'One endpoint',
    errors: ['NOT_FOUND'],
    params: whoseParams,
    answer: one,
    handle: async (input) => ({
      body: { endpoint: await showOne(api, input.db, viewerOf(input), input.params.uid, input.now) },
    }),
  });

const createOperation = (api: Api) =>
  operation({
    method: 'POST',
    path: '/webhook/create',
    summary: 'Makes an endpoint; its secret is shown only now',
    addsOnly: true,
    errors: ['CONFLICT'],
    params: createParams(Object.keys(api.kindScopes)),
    answer: one.extend({ secret: z.string().describe('Secret that signs its events; it is shown only now') }),
    isSecret: () => true,
    scopesOf: ({ kinds }) => scopesOfKinds(api, kinds),
    check: ({ params }) => api.changes.checkTargets(params),
    handle: async (input) => {
      const { db, caller, params, now } = input;
      const viewer = viewerOf(input);
      const owner = { kind: 'api_client', id: caller.id } as const;
      const wanted = newEndpointOf(params, owner, readableKinds(api, caller, params.kinds));
      const made = await api.changes.create({ db, viewer, now }, wanted);
      return { body: { endpoint: await showOne(api, db, viewer, made.uid, now), secret: made.secret } };
    },
  });

const updateOperation = (api: Api) =>
  operation({
    method: 'POST',
    path: '/webhook/update',
    summary: 'Changes what is named; enabled true enables again',
    // The one secret that a change may contain. Release 1.0.0, which does not know `auth`, repeats only receipts that are not sealed.
    isSecret: ({ auth }) => auth !== undefined,
    errors: ['NOT_FOUND'],
    params: updateParams(Object.keys(api.kindScopes)),
    answer: one,
    scopesOf: ({ kinds }) => scopesOfKinds(api, kinds),
    check: (input) =>
      api.changes.checkTargetsOf({ db: input.db, viewer: viewerOf(input) }, input.params.uid, input.params),
    handle: async (input) => {
      const { db, caller, params, now } = input;
      const viewer = viewerOf(input);
      const kinds = params.kinds === undefined ? undefined : readableKinds(api, caller, params.kinds);
      await api.changes.update({ db, viewer, now }, params.uid, endpointChangesOf(params, kinds));
      return { body: { endpoint: await showOne(api, db, viewer, params.uid, now) } };
    },
  });

const removeOperation = (api: Api) =>
  operation({
    method: 'POST',
    path: '/webhook/remove',
    summary: 'Removes an endpoint; what was still to be sent is cancelled',
    errors: ['NOT_FOUND'],
    params: whoseParams,
    answer: z.object({}),
    handle: async (input) => {
      await api.changes.remove({ db: input.db, viewer: viewerOf(input), now: input.now }, input.params.uid);
      return { body: {} };
    },
  });

const rotateParams = z
  .object({
    uid: uid().describe('The endpoint'),
    secret: givenSecret(),
    overlap_hours: optional(integer({ min: 0, max: 168 })).describe(
      'How long the old secret signs beside the new one, in hours; when absent, 24',
    ),
    finish: withDefault(boolean(), false).describe(
      'True: makes no new secret but ends the running overlap now; not together with `secret` and `overlap_hours`',
    ),
  })
  .superRefine(({ finish, ...given }, ctx) => {
    for (const name of ['secret', 'overlap_hours'] as const) {
      if (!finish || given[name] === undefined) continue;
      const message = 'cannot be combined with finish';
      ctx.addIssue({ code: 'custom', path: [name], message, params: { code: 'CONFLICTING_VALUES' } });
    }
  })
  .meta({ id: 'SecretRotation', description: 'A rotation of the secret of an endpoint, or its end' });

const overlapHoursDefault = 24;

const rotateOperation = (api: Api) =>
  operation({
    method: 'POST',
    path: '/webhook/rotate-secret',
    summary: 'A new secret beside the old one, or the end of the old one',
    errors: ['NOT_FOUND', 'CONFLICT'],
    params: rotateParams,
    answer: one.extend({
      secret: z.string().nullable().describe('The new secret, which is shown only now; null with `finish`'),
    }),
    isSecret: () => true,
    handle: async (input) => {
      const { db, params, now } = input;
      const viewer = viewerOf(input);
      const request = { db, viewer, now };
      const rotation = { secret: params.secret, overlapHours: params.overlap_hours ?? overlapHoursDefault };
      if (params.finish) await api.changes.finishRotation(request, params.uid);
      const secret = params.finish ? null : await api.changes.rotateSecret(request, params.uid, rotation);
      return { body: { endpoint: await showOne(api, db, viewer, params.uid, now), secret } };
    },
  });

const testOperation = (api: Api) =>
  operation({
    method: 'POST',
    path: '/webhook/test',
    summary: 'One attempt now with the event webhook.test, also while disabled',
    addsOnly: true,
    errors: ['NOT_FOUND'],
    params: whoseParams,
    answer: z.object({ attempt: attemptAnswer.describe('The attempt and its result') }),
    transaction: false,
    handle: async (input) => {
      const { db, params, signal } = input;
      const attempt = await api.changes.test({ db, viewer: viewerOf(input) }, params.uid, signal);
      return { body: { attempt: attemptView(attempt, await api.datesOf(db, tenantOf(input))) } };
    },
  });
