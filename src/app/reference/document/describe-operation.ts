/** One route of the table and the operation behind it as an OpenAPI operation. */
import type { z } from 'zod';
import { mayBeAnonymous, namesIn, type Route, scopeSetsOf, unitsOfRoute } from '#src/gateway/config.ts';
import type { OwnError } from '#src/platform/http/operation.ts';
import { errorAnswers, rateHeaders } from './error-answers.ts';
import type { Examples } from './examples/recorded-answers.ts';
import { answerQueries, laterIds, parameterSamples, withoutSample } from './examples/request-samples.ts';
import { type Json, nameKey, schemaOf } from './json-schema.ts';
import { sampleOf } from './sample-of.ts';
import { tagOf } from './tags.ts';

/** Description of the operation behind a route; undefined for a service that gives none. */
export type Described = {
  summary: string;
  errors: readonly OwnError[];
  emits: readonly string[];
  params?: z.ZodType;
  answer: z.ZodObject;
  restaurant: boolean;
  /** See Operation. */
  addsOnly?: true | undefined;
  hasScopesOfBody: boolean;
};

/** Schemes without scopes of their own list none (OpenAPI 3.1, section 4.8.30); the description of the operation names them. */
const security = {
  api_key: (): Json[] => [{ apiKey: [] }],
  api_client: (): Json[] => [{ clientId: [], clientSecret: [] }],
  bearer: (route: Route): Json[] => scopeSetsOf(route).map((scopes) => ({ bearer: scopes })),
};

/** An empty alternative: no credential is needed. */
const securityOf = (route: Route): Json[] => [
  ...route.kinds.toSorted(bearerFirst).flatMap((kind) => security[kind](route)),
  ...(mayBeAnonymous(route) ? [{}] : []),
];

/** `path`: that of the document. `operationId`: that of the route, unless the route has several methods. */
export const describeOperation = (
  { origin, path, operationId, examples }: { origin: string; path: string; operationId: string; examples: Examples },
  route: Route,
  described: Described | undefined,
): Json => {
  const params = described?.params === undefined ? undefined : schemaOf(described.params, 'input');
  const answer = answerSchema(route, described);
  const hasBody = route.method === 'POST' && params !== undefined;
  const takesKey = hasReceipt(route, described);
  const alternatives = hasBody ? [] : alternativesOf(params);
  return {
    operationId,
    tags: [tagOf(route.path).name],
    summary: described?.summary ?? route.id,
    description: descriptionOf(route, described, alternatives),
    ...(route.deprecation === undefined ? undefined : { deprecated: true }),
    ...(alternatives.length > 0 ? { 'x-any-of-required': alternatives } : undefined),
    ...(described?.addsOnly === true ? { 'x-adds-only': true } : undefined),
    security: securityOf(route),
    parameters: parametersOf(route, path, described, hasBody ? undefined : params),
    ...(hasBody ? { requestBody: bodyOf(route, params, examples) } : undefined),
    responses: {
      200: {
        description: 'Done',
        headers: { ...rateHeaders, ...(takesKey ? replayHeaders : undefined) },
        content: {
          'application/json': {
            schema: answer,
            ...answerExample(route, examples.answers[operationId] ?? sampleOf(answer, true)),
          },
        },
      },
      ...errorAnswers({
        origin,
        id: operationId,
        takesKey,
        own: described?.errors ?? [],
      }),
    },
  };
};

const answerExample = ({ path }: Route, value: unknown): Json => {
  const query = answerQueries[path];
  return query === undefined ? { example: value } : { examples: { page: { summary: `With \`${query}\``, value } } };
};

/** Viewers and generators of clients take the first as the usual one. */
const bearerFirst = (a: string, b: string): number => Number(b === 'bearer') - Number(a === 'bearer');

/**
 * An `Idempotency-Key` has no second effect. Of a service without a description that is unknown: the gateway passes the key on, and
 * sends such a request once more when its connection is lost, so a service that ignores the key would carry it out twice.
 */
const hasReceipt = ({ method }: Route, described: Described | undefined): boolean =>
  method === 'POST' && described !== undefined;

const replayHeaders: Json = {
  'Idempotent-Replayed': { $ref: '#/components/headers/Replayed' },
  'Idempotency-Expires': { $ref: '#/components/headers/IdempotencyExpires' },
};

const answerSchema = (route: Route, described: Described | undefined): Json =>
  described === undefined
    ? anyAnswer
    : {
        ...envelopeSchema(schemaOf(described.answer, 'output')),
        description: `Answer of ${route.method} ${route.path}`,
      };

const anyAnswer: Json = {
  type: 'object',
  description: 'Any object: the service behind this route does not describe its answers',
  [nameKey]: 'AnyAnswer',
};

const envelopeSchema = (answer: Json): Json => ({
  type: 'object',
  required: ['success', ...((answer.required ?? []) as string[])],
  properties: {
    success: { $ref: '#/components/schemas/Success' },
    ...(answer.properties as Json),
  },
});

/**
 * Names of parameters of which one must be given. OpenAPI has no keyword for that, so the text says it, and `x-any-of-required`
 * says it to programs.
 */
const alternativesOf = (params: Json | undefined): readonly string[] =>
  ((params?.anyOf ?? []) as { required: string[] }[]).flatMap(({ required }) => required);

const descriptionOf = (route: Route, described: Described | undefined, alternatives: readonly string[]): string => {
  const emits = described?.emits ?? [];
  const lines = [
    ...endOf(route),
    needsOf(route),
    costOf(route),
    ...(route.path.endsWith('/*') ? ['Also every path below.'] : []),
  ];
  if (alternatives.length > 0)
    lines.push(`One of ${alternatives.map((name) => `\`${name}\``).join(' and ')} is required.`);
  if (described?.hasScopesOfBody === true)
    lines.push('It also needs the read scope of each kind that the request names.');
  const later = laterIds[route.path];
  if (later !== undefined)
    lines.push(`The id of the example stands for ${later}; the answer to the example itself is 404 \`NOT_FOUND\`.`);
  if (emits.length > 0) lines.push(`Events: ${emits.map((event) => `\`${event}\``).join(', ')}.`);
  return lines.join('\n\n');
};

const needsOf = (route: Route): string => {
  if (mayBeAnonymous(route)) return 'Needs no credential.';
  const sets = scopeSetsOf(route).map((scopes) => scopes.join(' '));
  return sets.includes('') ? 'Needs no scope.' : `Needs the scope ${sets.map((set) => `\`${set}\``).join(' or ')}.`;
};

const costOf = (route: Route): string => {
  const units = unitsOfRoute(route);
  const text = `${units} ${units === 1 ? 'unit' : 'units'}.`;
  return route.limits?.cost === undefined ? `Rate class ${route.class}: ${text}` : `A request costs ${text}`;
};

/** The announced end of the operation. */
const endOf = ({ deprecation }: Route): string[] => {
  if (deprecation === undefined) return [];
  const { since, sunset, link } = deprecation;
  const end = sunset === undefined ? '' : ` It may no longer answer from ${sunset} (UTC).`;
  return [`Deprecated from ${since} (UTC).${end}${link === undefined ? '' : ` See [what replaces it](${link}).`}`];
};

/** By path: a parameter whose values are known. Those of other services may be any segment. */
const knownParameters: Readonly<Record<string, Json>> = {
  '/api/whoami/denials/{request_id}': {
    description: 'Id of the refused request, as in its X-Request-Id',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
  },
};
const anySegment: Json = { description: 'A segment of the path', schema: { type: 'string' } };

const reference = (name: string): Json => ({ $ref: `#/components/parameters/${name}` });

const parametersOf = (
  route: Route,
  path: string,
  described: Described | undefined,
  params: Json | undefined,
): Json[] => {
  const samples = parameterSamples[route.path] ?? {};
  const required = new Set((params?.required ?? []) as string[]);
  const inQuery = Object.entries((params?.properties ?? {}) as Record<string, Json>)
    .filter(([name]) => name !== 'restuid' || described?.restaurant === false)
    .map(([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      ...(required.has(name) ? { required: true } : undefined),
      ...(description === undefined ? undefined : { description }),
      ...(schema.type === 'array' ? { style: 'form', explode: false } : undefined),
      schema,
      ...(withoutSample.has(name) ? undefined : { example: samples[name] ?? sampleOf(schema, false, name) }),
    }));
  const inPath = namesIn(path).map((name) => ({
    name,
    in: 'path',
    required: true,
    ...(knownParameters[route.path] ?? anySegment),
    example: samples[name] ?? 'segment',
  }));
  return [
    ...inPath,
    ...inQuery,
    ...(described?.restaurant === true ? [reference('Restuid')] : []),
    ...(hasReceipt(route, described) ? [reference('IdempotencyKey')] : []),
  ];
};

/** Without members that are required, a request without a body is complete. */
const bodyOf = (route: Route, schema: Json, { requests }: Examples): Json => ({
  required: ((schema.required ?? []) as string[]).length > 0 || schema.anyOf !== undefined,
  content: {
    'application/json': {
      schema: { description: `Body of ${route.method} ${route.path}`, ...schema },
      examples: requests[route.path] ?? { request: { value: sampleOf(schema, false) } },
    },
  },
});
