/**
 * The same collection for Bruno, in the JSON form (version 1) that every release of it exports and imports, rather than as a
 * folder of files, which a reader would have to unpack.
 */
import type { Json } from '../json-schema.ts';
import { variables } from './chained-ids.ts';
import { collectionText } from './postman.ts';
import { type Folder, foldersOf, type Parameter, type Request } from './requests.ts';

/** `document`: as `buildOpenApi` makes it. */
export const brunoCollection = (document: Json): Json => {
  const { info, servers } = document as { info: Json; servers: { url: string }[] };
  const values = { baseUrl: servers[0]?.url ?? '', ...mapValues(variables, ({ value }) => value) };
  return {
    name: info.title,
    version: '1',
    items: foldersOf(document).map(folderOf),
    environments: [
      {
        name: 'Orderpass',
        variables: Object.entries(values).map(([name, value]) => ({
          name,
          value,
          type: 'text',
          enabled: true,
          secret: name === 'clientSecret',
        })),
      },
    ],
    root: { request: { auth: bearer }, docs: collectionText },
    brunoConfig: { version: '1', name: info.title, type: 'collection' },
  };
};

const bearer = { mode: 'bearer', bearer: { token: '{{accessToken}}' } };

const mapValues = <T, R>(members: Readonly<Record<string, T>>, change: (member: T) => R): Record<string, R> =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, change(member)]));

/** A name is the name of a file too. */
const fileName = (name: string): string => name.replaceAll(/[/\\:*?"<>|]/g, ' ');

const folderOf = ({ name, description, requests }: Folder, index: number): Json => ({
  type: 'folder',
  name: fileName(name),
  seq: index + 1,
  root: { docs: description, meta: { name: fileName(name), seq: index + 1 } },
  items: requests.map((request, place) => ({
    type: 'http',
    name: fileName(request.name),
    seq: place + 1,
    request: requestOf(request),
  })),
});

const requestOf = (request: Request): Json => {
  const { path, query, method, headers, needsToken, description } = request;
  const sent = query.filter(({ enabled }) => enabled).map(({ name, value }) => `${name}=${value}`);
  return {
    url: `{{baseUrl}}${path}${sent.length === 0 ? '' : `?${sent.join('&')}`}`,
    method,
    headers: fieldsOf(headers),
    params: fieldsOf(query).map((one) => ({ ...one, type: 'query' })),
    auth: needsToken ? { mode: 'inherit' } : { mode: 'none' },
    body: bodyOf(request),
    script: { res: scriptOf(request) },
    tests: testOf(request),
    docs: description,
  };
};

const fieldsOf = (parameters: readonly Parameter[]): Json[] =>
  parameters.map(({ name, value, description, enabled }) => ({ name, value, description, enabled }));

const bodyOf = ({ body }: Request): Json => {
  if (body === undefined) return { mode: 'none' };
  return body.kind === 'json'
    ? { mode: 'json', json: body.text }
    : { mode: 'formUrlEncoded', formUrlEncoded: fieldsOf(body.fields) };
};

const scriptOf = ({ sets }: Request): string =>
  Object.entries(sets)
    .map(
      ([variable, members]) =>
        `const ${variable} = ${JSON.stringify(members)}.reduce((value, name) => value?.[name], res.body);\nif (${variable} != null) bru.setVar('${variable}', ${variable});`,
    )
    .join('\n');

const testOf = ({ expected }: Request): string =>
  `test('status is ${expected.join(' or ')}', () => expect(res.status).to.be.oneOf(${JSON.stringify(expected)}));`;
