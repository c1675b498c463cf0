import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { oauthTexts } from '#src/app/reference/document/error-texts.ts';
import { errorCodes } from '#src/app/reference/guide/content/error-codes.ts';
import { renderMarkdown } from '#src/app/reference/guide/markdown/render-markdown.ts';
import { kindScopes } from '#src/app/webhooks/wire-engine.ts';
import { faultCodes } from '#src/contract/fault.ts';
import { readRouteTable, routesFileOf } from '#src/gateway/config.ts';
import { describedSelfOperations } from '#src/gateway/index.ts';
import { describedEvents, describedOperations } from '#src/ordering/index.ts';
import {
  describedOperations as describedWebhookOperations,
  describedEvents as ownWebhookEvents,
} from '#src/webhooks/index.ts';
import { measuredOperations, operationRequests } from '../bench/scale/operation-requests.ts';
import { sendRequest } from '../gateway/harness/public-door.ts';
import { withFlatSchemas } from './examples/flat-schemas.ts';
import { startGatewayAlone } from './gateway-alone.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is read member by member, and a wrong shape fails the assertion.
type Json = any;

const { routes, scopes, tenantWords } = readRouteTable(routesFileOf({}));
const operations = [...describedOperations(), ...describedWebhookOperations(kindScopes)];
const selfOperations = describedSelfOperations(tenantWords);
let gateway: Awaited<ReturnType<typeof startGatewayAlone>>;
let answer: Response;
let document: Json;
/** The document with every member of an object in its place. */
let flat: Json;

beforeAll(async () => {
  gateway = await startGatewayAlone();
  answer = await fetch(`${gateway.url}/api/openapi.json`, {
    headers: { 'x-api-key': 'opk_refused', 'accept-encoding': 'identity' },
  });
  document = await answer.json();
  flat = withFlatSchemas(document);
});

afterAll(() => gateway?.stop());

const operationOf = (route: { path: string; method: string }): Json =>
  document.paths[route.path]?.[route.method.toLowerCase()];

/** What a reference names; anything else as it is. */
const deref = (node: Json): Json => {
  const [, kind, name] = /^#\/components\/(\w+)\/(.+)$/.exec(node?.$ref ?? '') ?? [];
  return kind === undefined ? node : deref(flat.components[kind][name ?? '']);
};

const membersOf = (schema: Json): Json => deref(schema).properties;

/** Every operation of the document, webhooks included. */
const everyOperation = (): [string, Json][] =>
  [...Object.entries<Json>(document.paths), ...Object.entries<Json>(document.webhooks)].flatMap(([path, place]) =>
    Object.entries<Json>(place).map(([method, operation]): [string, Json] => [`${method} ${path}`, operation]),
  );

test('A-047 a gateway without a core serves a valid OpenAPI 3.1 document of version 1.0.0 without a credential', async () => {
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
  expect(document.openapi).toMatch(/^3\.1\./);
  expect(document.info.version).toBe('1.0.0');
  expect(document.servers).toEqual([{ url: gateway.url }]);
  const verdict = await new Validator().validate(structuredClone(document));
  expect(verdict.errors ?? []).toEqual([]);
  expect(verdict.valid).toBe(true);
});

test('a document that was read before is not sent again, and other methods are refused', async () => {
  const url = `${gateway.url}/api/openapi.json`;
  const again = await sendRequest(gateway.url, 'GET', '/api/openapi.json', {
    headers: { 'if-none-match': answer.headers.get('etag') ?? '' },
  });
  expect(again.status).toBe(304);
  const head = await fetch(url, { method: 'HEAD', headers: { 'accept-encoding': 'identity' } });
  expect([head.status, head.headers.get('content-length')]).toEqual([
    200,
    String(Buffer.byteLength(JSON.stringify(document))),
  ]);
  const post = await fetch(url, { method: 'POST' });
  expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
});

test('A-047 every route of the table is in the document with its scopes and kinds of credential, and nothing else is', () => {
  const names: Record<string, string> = { apiKey: 'api_key', clientId: 'api_client', bearer: 'bearer' };
  for (const route of routes) {
    const operation = operationOf(route);
    expect(operation, `${route.method} ${route.path}`).toBeDefined();
    expect(operation.operationId).toBe(route.id);
    const kinds = operation.security.map((one: Json) => names[Object.keys(one)[0] ?? '']);
    expect(kinds.toSorted()).toEqual(route.kinds.toSorted());
    expect(kinds.indexOf('bearer')).toBeLessThanOrEqual(0);
    for (const [name, needed] of operation.security.flatMap((one: Json) => Object.entries(one)))
      expect([name, needed]).toEqual([name, name === 'bearer' ? route.scopes : []]);
    for (const scope of route.scopes) expect(operation.description).toContain(scope);
  }
  const own = /^\/api\/oauth\/(token|revoke|introspect|report-leak|jwks)$|^\/\.well-known\/|^\/api\/openapi\.json$/;
  const listed = Object.keys(document.paths).filter((path) => !own.test(path));
  expect(listed.toSorted()).toEqual([...new Set(routes.map(({ path }) => path))].toSorted());
  expect(Object.keys(document.components.securitySchemes)[0]).toBe('bearer');
  expect(Object.keys(document.components.securitySchemes.bearer.flows.clientCredentials.scopes)).toEqual(
    scopes.map(({ name }) => name),
  );
});

test('every operation of the core is in the route table, and its schemas are in the document', () => {
  for (const { method, path, answer: type } of operations) {
    const route = routes.find((one) => one.path === `/api${path}` && one.method === method);
    expect(route, `${method} ${path}`).toBeDefined();
    const { schema } = operationOf({ method, path: `/api${path}` }).responses[200].content['application/json'];
    const members = Object.keys((type as Json).shape);
    expect(Object.keys(membersOf(schema))).toEqual(['success', ...members]);
  }
  const covered = new Set(operations.map(({ path }) => `/api${path}`));
  const undescribed = routes.filter((route) => route.upstream === 'ordering' && !covered.has(route.path));
  expect(undescribed.map(({ path }) => path)).toEqual([]);
});

test('A-482 every tag that an operation has is listed once with a sentence, and every listed tag is used', () => {
  const used = new Set(everyOperation().flatMap(([, operation]) => operation.tags as string[]));
  const listed: [name: string, description: string][] = document.tags.map(({ name, description }: Json) => [
    name,
    description,
  ]);
  expect(listed.map(([name]) => name).toSorted()).toEqual([...used].toSorted());
  for (const [name, description] of listed) {
    expect(name).toMatch(/^[A-Z]/);
    // The sentence for a service of an operator, which says nothing about it.
    expect(description).not.toMatch(/^Operations below/);
    expect(description).toMatch(/^[A-Z].*\.$/);
  }
});

test('A-482 id and secret are required together, and every refusal of an operation that others have is a reference', () => {
  const requirements = everyOperation().flatMap(([, { security }]) => security ?? []);
  const names = new Set(requirements.map((one: Json) => Object.keys(one).join(' ')));
  expect(names).toEqual(new Set(['bearer', 'clientId clientSecret', 'apiKey', 'clientBasic', '']));
  for (const [, operation] of everyOperation())
    for (const status of ['401', '429', '503', '500'])
      if (operation.responses[status] !== undefined && operation.security?.[0]?.bearer !== undefined)
        expect(operation.responses[status].$ref).toMatch(/^#\/components\/responses\//);
});

test('A-482 bounds and formats of the values that a request is checked by are in the document', () => {
  const query = Object.fromEntries(
    operationOf({ method: 'GET', path: '/api/orders/list' })
      .parameters.map(deref)
      .map((one: Json) => [one.name, one.schema]),
  );
  expect(deref(query.pagesize)).toMatchObject({ type: 'integer', minimum: 1, maximum: 100 });
  const { details, client, notes } = membersOf({ $ref: '#/components/schemas/NewOrder' });
  expect([deref(details).minItems, deref(details).maxItems, deref(notes).maxLength]).toEqual([1, 200, 1000]);
  expect(deref(membersOf(client).email).maxLength).toBe(254);
  const { url, kinds } = membersOf({ $ref: '#/components/schemas/NewEndpoint' });
  expect([deref(url).maxLength, deref(deref(kinds).items).enum]).toEqual([2048, expect.arrayContaining(['orders'])]);
  const times = Object.entries<Json>(flat.components.schemas).flatMap(([name, { properties }]) =>
    Object.entries<Json>(properties ?? {}).flatMap(([member, one]) =>
      /_iso$/.test(member) ? [[`${name}.${member}`, one]] : [],
    ),
  ) as [string, Json][];
  expect(times.length).toBeGreaterThan(10);
  const formats = (schema: Json): unknown[] =>
    [schema, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].map((one) => deref(one).format);
  expect(times.filter(([, one]) => !formats(deref(one)).includes('date-time')).map(([name]) => name)).toEqual([]);
});

test('A-482 the token endpoint has token exchange, and a leak is reported without a credential', () => {
  const token = operationOf({ method: 'POST', path: '/api/oauth/token' });
  const form = membersOf(token.requestBody.content['application/x-www-form-urlencoded'].schema);
  expect(form.grant_type.enum).toContain('urn:ietf:params:oauth:grant-type:token-exchange');
  for (const name of ['subject_token', 'subject_token_type', 'requested_token_type', 'expires_in'])
    expect(form[name]?.description).toContain('token exchange');
  expect(membersOf(token.responses[200].content['application/json'].schema).issued_token_type).toBeDefined();
  const report = operationOf({ method: 'POST', path: '/api/oauth/report-leak' });
  expect([report.security, Object.keys(report.responses)[0]]).toEqual([[], '202']);
});

/** Every schema below a value, with the path to it. Examples are no schemas. */
const schemasIn = function* (value: Json, path: string): Generator<[string, Json]> {
  if (typeof value !== 'object' || value === null) return;
  yield [path, value];
  for (const [key, below] of Object.entries<Json>(value))
    if (!['example', 'examples', 'default', 'enum', 'const'].includes(key)) yield* schemasIn(below, `${path}/${key}`);
};

test('A-284 every object is a named schema, and every schema, property and parameter has a description', () => {
  const { schemas, ...others } = document.components;
  const elsewhere = [...schemasIn({ paths: document.paths, webhooks: document.webhooks, ...others }, '')];
  expect(elsewhere.filter(([, { properties }]) => properties !== undefined).map(([path]) => path)).toEqual([]);
  const undescribed: string[] = [];
  const expectText = (path: string, node: Json): void => {
    if (typeof (node.description ?? deref(node).description) !== 'string') undescribed.push(path);
  };
  for (const [name, schema] of Object.entries<Json>(schemas)) {
    expectText(name, schema);
    for (const [path, { properties }] of schemasIn(schema, name)) {
      if (path !== name) expect(properties, path).toBeUndefined();
      for (const [member, one] of Object.entries<Json>(properties ?? {})) expectText(`${path}.${member}`, one);
    }
  }
  for (const [name, { parameters }] of everyOperation())
    for (const one of parameters ?? []) expectText(`${name} ${deref(one).name}`, deref(one));
  expect(undescribed).toEqual([]);
});

test('A-285 the document has at most 300 kB, and a body is required where a member of it is', () => {
  expect(Buffer.byteLength(JSON.stringify(document))).toBeLessThanOrEqual(300_000);
  for (const [name, { requestBody }] of everyOperation()) {
    if (requestBody === undefined) continue;
    const schemas = Object.values<Json>(requestBody.content).map(({ schema }) => deref(schema));
    const needsMember = schemas.some(({ required = [], anyOf }) => required.length > 0 || anyOf !== undefined);
    expect([name, requestBody.required]).toEqual([name, needsMember]);
  }
});

test('A-340 members that several objects have stand in one object that these extend, which has no other rules', () => {
  const { schemas } = document.components;
  for (const name of ['OrdersListAnswer', 'OrderNewEvent', 'WebhookTestEvent', 'DeliveryWithAttempts', 'MenuImport']) {
    const [base] = schemas[name].allOf.map(({ $ref }: Json) => $ref.split('/').at(-1));
    // Another keyword would be a rule that the others inherit.
    for (const keyword of Object.keys(schemas[base]))
      expect(['description', 'properties', 'required', 'type']).toContain(keyword);
    const members = Object.keys(schemas[base].properties);
    expect(members.length).toBeGreaterThan(3);
    expect(Object.keys(schemas[name].properties).filter((member) => members.includes(member))).toEqual([]);
    expect(Object.keys(membersOf({ $ref: `#/components/schemas/${name}` }))).toEqual(expect.arrayContaining(members));
  }
  expect(flat.components.schemas.OrdersListAnswer.required).toEqual(
    expect.arrayContaining(['success', 'orders', 'page', 'next_cursor']),
  );
});

test('A-341 alternatives of which one is required are named schemas, and an operation without a body names them in its text', () => {
  const { schemas } = document.components;
  const { anyOf } = schemas.NewCustomer;
  expect(anyOf.map(({ $ref }: Json) => deref({ $ref }).required)).toEqual([['email'], ['phone']]);
  for (const schema of Object.values<Json>(schemas))
    for (const branch of schema.anyOf ?? [])
      if (branch.type !== 'string' && branch.type !== 'array') expect(branch.$ref).toMatch(/^#/);
  for (const [path, names] of [
    ['/api/orders/get', ['uid', 'external_id']],
    ['/api/customerstats/customer', ['uid', 'email']],
  ] as const) {
    const operation = operationOf({ method: 'GET', path });
    expect(operation['x-any-of-required']).toEqual(names);
    expect(operation.description).toContain(`One of \`${names[0]}\` and \`${names[1]}\` is required.`);
  }
});

test('an import is described down to the option values, by the schemas that validate it', () => {
  const { schema } = operationOf({ method: 'POST', path: '/api/menu/import' }).requestBody.content['application/json'];
  const product = deref(membersOf(schema).products.items);
  expect(product.properties.inherits_options.enum).toEqual(['sync', 'copy', 'none']);
  expect(product.properties.allergens.items.enum).toContain('molluscs');
  const value = membersOf(deref(membersOf(deref(product.properties.options).items).option_values).items);
  expect(value.price_operator.enum).toEqual(['+', '-', '=']);
});

test('A-679 the schema of an import has only the id required, and no default that a generated client would send in a merge', () => {
  const { ImportedCategory, ImportedProduct } = document.components.schemas;
  for (const { required, properties } of [ImportedCategory, ImportedProduct]) {
    expect(required).toEqual(['ext_id']);
    for (const [name, member] of Object.entries<Json>(properties))
      expect([name, deref(member).default]).toEqual([name, undefined]);
  }
  expect(deref(ImportedProduct.properties.hidden).description).toContain('By default `false`');
  expect(deref(ImportedProduct.properties.price).description).toContain('Required when');
});

test('every operation names its own errors beside the general ones, in the dialects that a caller can meet', () => {
  for (const route of routes) {
    const described =
      operations.find(({ method, path }) => method === route.method && `/api${path}` === route.path) ??
      selfOperations.find(({ id }) => id === route.id);
    expect(described?.errors, route.path).toBeDefined();
    const { responses } = operationOf(route);
    for (const status of [400, 401, 403]) {
      const { schema } = deref(responses[status]).content['application/json'];
      expect(deref(schema).oneOf).toHaveLength(2);
    }
    const named = Object.values<Json>(responses).flatMap((response) =>
      [...deref(response).description.matchAll(/`([A-Z_]+)`/g)].map(([, code]) => code),
    );
    for (const error of described?.errors ?? []) expect(named).toContain(typeof error === 'string' ? error : error[0]);
    expect(named).toEqual(expect.arrayContaining(['RATE_LIMIT_EXCEEDED', 'OVERLOADED', 'INTERNAL_ERROR']));
    expect(Object.keys(responses[200].headers)).toEqual(expect.arrayContaining(['RateLimit', 'RateLimit-Policy']));
  }
});

test('every example of the document fits its schema', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'https://reference.example/', components: document.components });
  const resolve = (node: Json): Json =>
    JSON.parse(JSON.stringify(node).replaceAll('"#/components/', '"https://reference.example/#/components/'));
  let checked = 0;
  const compiled = new Map<string, ValidateFunction>();
  const check = (where: string, schema: Json, value: unknown): void => {
    const text = JSON.stringify(schema);
    const fits = compiled.get(text) ?? ajv.compile(resolve(schema));
    compiled.set(text, fits);
    expect(fits(value), `${where}: ${JSON.stringify(fits.errors)} in ${JSON.stringify(value)}`).toBe(true);
    checked += 1;
  };
  const checkContent = (where: string, content: Json): void => {
    for (const [type, { schema, example, examples }] of Object.entries<Json>(content ?? {})) {
      const values = [
        ...(example === undefined ? [] : [example]),
        ...Object.values<Json>(examples ?? {}).map((one) => deref(one).value),
      ];
      // A problem has its example at its schema.
      if (type !== 'application/problem+json')
        expect(values.length, `${where} ${type} has an example`).toBeGreaterThan(0);
      for (const value of values) check(`${where} ${type}`, schema, value);
    }
  };
  for (const [name, operation] of everyOperation()) {
    checkContent(`${name} request`, operation.requestBody?.content);
    for (const [status, response] of Object.entries<Json>(operation.responses))
      checkContent(`${name} ${status}`, deref(response).content);
    for (const parameter of (operation.parameters ?? []).map(deref))
      if (parameter.example !== undefined) check(`${name} ${parameter.name}`, parameter.schema, parameter.example);
  }
  expect(checked).toBeGreaterThan(routes.length * 15);
});

test('the schemas of the program accept every example request and every example answer', () => {
  for (const { method, path, params, answer: type } of operations) {
    const operation = operationOf({ method, path: `/api${path}` });
    const bodies =
      method === 'POST'
        ? Object.values<Json>(operation.requestBody.content['application/json'].examples).map(({ value }) => value)
        : operation.parameters
            .map(deref)
            .filter((one: Json) => one.in === 'query' && !['page', 'restuid'].includes(one.name))
            .map((one: Json) => ({ ...requiredOf(operation), [one.name]: one.example }));
    for (const body of bodies) {
      const verdict = params.safeParse(body);
      const unmet = verdict.success
        ? []
        : verdict.error.issues.filter(({ message }) => !/ or .* is required/.test(message));
      expect(unmet, `${path} ${JSON.stringify(body)}`).toEqual([]);
    }
    const { example, examples } = operation.responses[200].content['application/json'];
    const { success: _success, ...members } = example ?? examples.page.value;
    const left = type.safeParse(members);
    expect(left.error?.issues ?? [], path).toEqual([]);
    expect(left.data, path).toEqual(members);
  }
});

const requiredOf = (operation: Json): Json =>
  Object.fromEntries(
    operation.parameters
      .map(deref)
      .filter((one: Json) => one.required === true)
      .map((one: Json) => [one.name, one.example]),
  );

test('refusals of a running gateway fit the schemas of their dialects', async () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'https://reference.example/', components: document.components });
  const fits = (name: string, value: unknown): boolean =>
    ajv.validate(
      { $ref: `https://reference.example/#/components/schemas/${name}` },
      JSON.parse(JSON.stringify(value).replaceAll('"#/components/', '"https://reference.example/#/components/')),
    );
  const url = `${gateway.url}/api/orders/list`;
  const envelope = await fetch(url);
  const problem = await fetch(url, { headers: { accept: 'application/problem+json' } });
  const oauth = await fetch(url, { headers: { authorization: 'Bearer garbage' } });
  expect([envelope.status, problem.status, oauth.status]).toEqual([401, 401, 401]);
  expect(fits('Error', await envelope.json())).toBe(true);
  expect(fits('Problem', await problem.json())).toBe(true);
  const body = (await oauth.json()) as Json;
  expect(fits('OAuthError', body)).toBe(true);
  expect(fits('Error', body)).toBe(false);
});

test('the webhooks section has every event, test and digest too, with the headers that sign it', () => {
  expect(Object.keys(document.webhooks)).toEqual(
    [...describedEvents, ...ownWebhookEvents([])].map(({ event }) => event),
  );
  expect(Object.keys(document.webhooks)).toEqual(expect.arrayContaining(['webhook.test', 'webhook.digest']));
  for (const { post } of Object.values<Json>(document.webhooks)) {
    const parameters = post.parameters.map(deref);
    expect(parameters.map(({ name }: Json) => name)).toEqual([
      'webhook-id',
      'webhook-timestamp',
      'webhook-signature',
      'X-Orderpass-Signature',
      'X-Orderpass-Signature-Next',
      'x-orderpass-delivery',
      'x-orderpass-attempt',
      'x-orderpass-sandbox',
    ]);
    expect(parameters.filter(({ required }: Json) => !required).map(({ name }: Json) => name)).toEqual([
      'X-Orderpass-Signature',
      'X-Orderpass-Signature-Next',
      'x-orderpass-sandbox',
    ]);
    const { example } = post.requestBody.content['application/json'];
    expect(Object.keys(example).slice(2, 7)).toEqual(['id', 'created', 'restuid', 'seq', 'previous_seq']);
  }
});

test('the page of error codes has one anchor per code, each the target of error_uri and of a problem type', () => {
  const anchors = [...renderMarkdown(errorCodes()).html.matchAll(/<h4 id="([^"]+)"/g)].map(([, id]) => id ?? '');
  expect(anchors).toEqual([...faultCodes, ...Object.keys(oauthTexts)]);
  const targets = [...JSON.stringify(document).matchAll(/\/docs\/errors#([A-Za-z_]+)/g)].map(([, code]) => code ?? '');
  expect(targets.length).toBeGreaterThan(5);
  expect([...new Set(targets)].filter((code) => !anchors.includes(code))).toEqual([]);
});

test('F-01 F-02 the document says that numbers are never rounded and that text is no number', () => {
  const { description } = document.info;
  for (const word of ['What is stored is what was sent', '`TYPE`', '`FORMAT`', '`RANGE`', '`DUPLICATE`'])
    expect(description).toContain(word);
  const members = membersOf(
    operationOf({ method: 'POST', path: '/api/loyaltylog/create' }).requestBody.content['application/json'].schema,
  );
  expect(members.diff_points.description).toContain('At most 2 decimals; more are refused, never rounded');
  expect(members.client_uid.type).toBe('string');
});

test('every operation of the document has a request in the bench of a large installation, and no request is for another', () => {
  expect(Object.keys(operationRequests).toSorted()).toEqual(measuredOperations(document.paths).toSorted());
});

test('A-129 the lines of an order may be null in an event only, and every event may have the mark of an example', () => {
  for (const [event, { post }] of Object.entries<Json>(document.webhooks)) {
    const members = membersOf(post.requestBody.content['application/json'].schema);
    expect([event, deref(members.test)]).toEqual([event, expect.objectContaining({ const: true })]);
    const { details } = event.startsWith('order.') ? membersOf(members.order) : {};
    if (details !== undefined) expect([event, deref(details).type]).toEqual([event, ['array', 'null']]);
  }
  const { schema } = operationOf({ method: 'GET', path: '/api/orders/get' }).responses[200].content['application/json'];
  expect(membersOf(membersOf(schema).order).details.type).toBe('array');
});
