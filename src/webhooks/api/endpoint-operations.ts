/** Operations on endpoints (interface 12.5). */
import type { Kysely } from 'kysely';
import { z } from 'zod';
import { Fault, validationFault } from '#src/contract/fault.ts';
import type { Key } from '#src/platform/db/bounded-list.ts';
import { enabledKinds } from '#src/platform/db/outbox/outbox.ts';
import { type Operation, operation, tenantOf } from '#src/platform/http/operation.ts';
import { cursorParams, pageAnswer } from '#src/platform/http/paging.ts';
import { boolean, integer, optional, uid, withDefault } from '#src/platform/http/values.ts';
import type { Viewer } from '../endpoints/endpoint.ts';
import { findEndpoint, findWatchedEndpoint, listEndpoints, type WatchedEndpoint } from '../endpoints/endpoint-store.ts';
import { addEndpoint, removeEndpoint, rotateSecret, targetProblem, updateEndpoint } from '../endpoints/endpoints.ts';
import { type Api, readableKinds, scopesOfKinds, viewerOf } from './api.ts';
import { attemptAnswer, attemptView } from './delivery-params.ts';
import { createParams, endpointAnswer, endpointView, givenSecret, updateParams } from './endpoint-params.ts';

const one = z.object({ endpoint: endpointAnswer });
const whoseParams = z.object({ uid: uid() });

export const endpointOperations = (api: Api): Operation[] => [
  listOperation(api),
  readOperation(api),
  createOperation(api),
  updateOperation(api),
  removeOperation,
  rotateOperation(api),
  testOperation(api),
];

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

const listOperation = (api: Api): Operation =>
  operation({
    method: 'GET',
    path: '/webhook/endpoints',
    summary: 'Endpoints, newest first, and the kinds of events that are on',
    errors: [],
    params: z.object(cursorParams),
    answer: z.object({
      endpoints: z.array(endpointAnswer),
      kinds_enabled: z.object(Object.fromEntries(Object.keys(api.kindScopes).map((kind) => [kind, z.boolean()]))),
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

const readOperation = (api: Api): Operation =>
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

/** Resolves the host over the network. Throws VALIDATION_ERROR. */
const requireTarget = async (api: Api, url: string | undefined): Promise<void> => {
  const problem = url === undefined ? undefined : await targetProblem(api, url);
  if (problem !== undefined) throw validationFault([problem]);
};

const createOperation = (api: Api): Operation =>
  operation({
    method: 'POST',
    path: '/webhook/create',
    summary: 'Makes an endpoint; its secret is shown only now',
    errors: ['CONFLICT'],
    params: createParams(Object.keys(api.kindScopes)),
    answer: one.extend({ secret: z.string() }),
    isSecret: true,
    scopesOf: ({ kinds }) => scopesOfKinds(api, kinds),
    check: ({ params }) => requireTarget(api, params.url),
    handle: async (input) => {
      const { db, caller, params, now } = input;
      const viewer = viewerOf(input);
      const made = await addEndpoint(
        { ...api, db, kinds: [] },
        {
          tenant: viewer.tenant,
          owner: api.owner ?? { kind: 'api_client', id: caller.id },
          url: params.url,
          kinds: readableKinds(api, caller, params.kinds),
          secret: params.secret,
          description: params.description ?? null,
          enabled: params.enabled,
          signatureHeader: params.signature_header ?? null,
          maxPerSecond: params.max_per_second ?? null,
          digest: params.digest,
        },
      );
      return { body: { endpoint: await showOne(api, db, viewer, made.endpoint.uid, now), secret: made.secret } };
    },
  });

const updateOperation = (api: Api): Operation =>
  operation({
    method: 'POST',
    path: '/webhook/update',
    summary: 'Changes what is named; enabled true enables again',
    errors: ['NOT_FOUND'],
    params: updateParams(Object.keys(api.kindScopes)),
    answer: one,
    scopesOf: ({ kinds }) => scopesOfKinds(api, kinds),
    check: async (input) => {
      const { params, db } = input;
      // The owner is checked first, so that requests of others resolve no names.
      if (params.url === undefined || (await findEndpoint(db, viewerOf(input), params.uid)) === undefined) return;
      await requireTarget(api, params.url);
    },
    handle: async (input) => {
      const { db, caller, params, now } = input;
      const viewer = viewerOf(input);
      const { url, enabled, digest, description, kinds } = params;
      const after = await updateEndpoint(
        db,
        viewer,
        params.uid,
        {
          ...(url === undefined ? undefined : { url }),
          ...(enabled === undefined ? undefined : { enabled }),
          ...(digest === undefined ? undefined : { digest }),
          ...(description === undefined ? undefined : { description }),
          ...(kinds === undefined ? undefined : { kinds: readableKinds(api, caller, kinds) }),
          ...(params.signature_header === undefined ? undefined : { signatureHeader: params.signature_header }),
          ...(params.max_per_second === undefined ? undefined : { maxPerSecond: params.max_per_second }),
        },
        now,
      );
      if (after === undefined) throw noEndpoint();
      return { body: { endpoint: await showOne(api, db, viewer, params.uid, now) } };
    },
  });

const removeOperation = operation({
  method: 'POST',
  path: '/webhook/remove',
  summary: 'Removes an endpoint; what was still to be sent is cancelled',
  errors: ['NOT_FOUND'],
  params: whoseParams,
  answer: z.object({}),
  handle: async (input) => {
    if (!(await removeEndpoint(input.db, viewerOf(input), input.params.uid, input.now))) throw noEndpoint();
    return { body: {} };
  },
});

const rotateParams = z
  .object({
    uid: uid(),
    secret: givenSecret(),
    overlap_hours: optional(integer({ min: 0, max: 168 })),
    finish: withDefault(boolean(), false),
  })
  .superRefine(({ finish, ...given }, ctx) => {
    for (const name of ['secret', 'overlap_hours'] as const) {
      if (!finish || given[name] === undefined) continue;
      const message = 'cannot be combined with finish';
      ctx.addIssue({ code: 'custom', path: [name], message, params: { code: 'CONFLICTING_VALUES' } });
    }
  });

const overlapHoursDefault = 24;

const rotateOperation = (api: Api): Operation =>
  operation({
    method: 'POST',
    path: '/webhook/rotate-secret',
    summary: 'A new secret beside the old one, or the end of the old one',
    errors: ['NOT_FOUND', 'CONFLICT'],
    params: rotateParams,
    answer: one.extend({ secret: z.string().nullable() }),
    isSecret: true,
    handle: async (input) => {
      const { db, params, now } = input;
      const viewer = viewerOf(input);
      const rotation = params.finish
        ? 'finish'
        : { secret: params.secret, overlapHours: params.overlap_hours ?? overlapHoursDefault };
      const outcome = await rotateSecret({ ...api, db }, viewer, params.uid, rotation);
      if (outcome === 'absent') throw noEndpoint();
      if (outcome === 'overlap_running')
        throw new Fault('CONFLICT', 'The old secret of the last rotation is still in use; end that with finish first');
      return { body: { endpoint: await showOne(api, db, viewer, params.uid, now), secret: outcome.secret } };
    },
  });

const testOperation = (api: Api): Operation =>
  operation({
    method: 'POST',
    path: '/webhook/test',
    summary: 'One attempt now with the event webhook.test, also while disabled',
    errors: ['NOT_FOUND'],
    params: whoseParams,
    answer: z.object({ attempt: attemptAnswer }),
    transaction: false,
    handle: async (input) => {
      const { db, params, signal } = input;
      const endpoint = await findEndpoint(db, viewerOf(input), params.uid);
      if (endpoint === undefined) throw noEndpoint();
      const dates = await api.datesOf(db, tenantOf(input));
      return { body: { attempt: attemptView(await api.testEndpoint(endpoint, signal), dates) } };
    },
  });
