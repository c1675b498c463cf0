/** A Postman collection (format 2.1.0) of the requests of the document, which runs from the token to the last folder. */
import type { Json } from '../json-schema.ts';
import { variables } from './chained-ids.ts';
import { type Folder, foldersOf, type Parameter, type Request } from './requests.ts';

const schema = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json';

/** Both collections say the same about themselves. */
export const collectionText = `Every operation with a request that works at the demo restaurant of a first start.
Put the secret of your API client into \`clientSecret\` and run the folders in their sequence: the first request gets a token, and answers set the ids that later requests need.`;

/** `document`: as `buildOpenApi` makes it. */
export const postmanCollection = (document: Json): Json => {
  const { info, servers } = document as { info: Json; servers: { url: string }[] };
  return {
    info: { name: info.title, description: collectionText, schema, version: info.version },
    auth: bearer,
    variable: [
      { key: 'baseUrl', value: servers[0]?.url ?? '', description: 'Where Orderpass listens' },
      ...Object.entries(variables).map(([key, { value, description }]) => ({ key, value, description })),
    ],
    item: foldersOf(document).map(folderOf),
  };
};

const bearer = { type: 'bearer', bearer: [{ key: 'token', value: '{{accessToken}}', type: 'string' }] };

const folderOf = ({ name, description, requests }: Folder): Json => ({
  name,
  description,
  item: requests.map((request) => ({
    name: request.name,
    event: [{ listen: 'test', script: { type: 'text/javascript', exec: scriptOf(request) } }],
    request: {
      method: request.method,
      description: request.description,
      ...(request.needsToken ? undefined : { auth: { type: 'noauth' } }),
      header: pairsOf(request.headers),
      url: urlOf(request),
      ...bodyOf(request),
    },
  })),
});

const pairsOf = (parameters: readonly Parameter[]): Json[] =>
  parameters.map(({ name, value, description, enabled }) => ({
    key: name,
    value,
    ...(description === '' ? undefined : { description }),
    ...(enabled ? undefined : { disabled: true }),
  }));

const urlOf = ({ path, query }: Request): Json => {
  const sent = query.filter(({ enabled }) => enabled).map(({ name, value }) => `${name}=${value}`);
  return {
    raw: `{{baseUrl}}${path}${sent.length === 0 ? '' : `?${sent.join('&')}`}`,
    host: ['{{baseUrl}}'],
    path: path.split('/').slice(1),
    query: pairsOf(query),
  };
};

const bodyOf = ({ body }: Request): Json => {
  if (body === undefined) return {};
  return body.kind === 'json'
    ? { body: { mode: 'raw', raw: body.text, options: { raw: { language: 'json' } } } }
    : { body: { mode: 'urlencoded', urlencoded: pairsOf(body.fields) } };
};

const scriptOf = ({ expected, sets }: Request): string[] => [
  `pm.test('status is ${expected.join(' or ')}', () => pm.expect(pm.response.code).to.be.oneOf(${JSON.stringify(expected)}));`,
  ...Object.entries(sets).flatMap(([variable, members]) => [
    `const ${variable} = ${JSON.stringify(members)}.reduce((value, name) => value?.[name], pm.response.json());`,
    `if (${variable} != null) pm.collectionVariables.set('${variable}', ${variable});`,
  ]),
];
