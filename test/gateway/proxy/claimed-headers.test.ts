/** What callers claim in the words of a proxy: dropped on the way to an upstream unless the route table passes it on. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadRouteTable } from '#src/gateway/config.ts';
import {
  openDoor,
  type PublicDoor,
  routeFile,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

let upstream: TestUpstream;
let door: PublicDoor;
let passing: PublicDoor;

const passed = ['x-http-method-override', 'x-auth-request-user', 'cf-connecting-ip', 'proxy'];

beforeAll(async () => {
  upstream = await startUpstream();
  door = await openDoor(upstream.url);
  passing = await openDoor(upstream.url, { table: { upstreams: { ordering: { passHeaders: passed } } } });
});

afterAll(async () => {
  await door.close();
  await passing.close();
  await upstream.close();
});

const claims = [
  ...[
    'User',
    'Email',
    'Groups',
    'Preferred-Username',
    'Access-Token',
    'Client-Cert',
    'Tls-Client-Cert',
    'Prefix',
    'Uri',
  ].map((name) => `X-Forwarded-${name}`),
  ...['X-Auth-Request-User', 'X-Auth-Request-Email', 'X-Auth-Request-Groups', 'X-Auth-Request-Access-Token'],
  ...['X-Remote-User', 'Remote-User', 'Remote-Groups', 'X-Remote-Group', 'X-WebAuth-User', 'X-Authenticated-User'],
  ...['X-Original-URL', 'X-Original-URI', 'X-Original-Method', 'X-Original-Host', 'X-Rewrite-URL'],
  ...['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', 'X-Host'],
  ...['True-Client-IP', 'CF-Connecting-IP', 'CF-Access-Jwt-Assertion', 'X-Client-IP', 'Client-IP', 'X-Real-IP'],
  ...['Fastly-Client-IP', 'X-Cluster-Client-IP', 'X-Envoy-External-Address', 'X-Azure-ClientIP', 'Forwarded', 'Proxy'],
  ...['Client-Cert', 'Client-Cert-Chain', 'X-Client-Cert', 'SSL-Client-Cert', 'X-SSL-Client-S-DN'],
  ...['X-Consumer-ID', 'X-Consumer-Username', 'X-Consumer-Groups', 'X-Credential-Identifier', 'X-Anonymous-Consumer'],
  ...['X-Authenticated-Scope', 'X-Authenticated-Userid', 'X-Userinfo', 'X-User', 'X-User-Id', 'Impersonate-User'],
  ...['Fly-Client-IP', 'DO-Connecting-IP', 'X-Vercel-Forwarded-For', 'Forwarded-For', 'X-Remote-IP', 'X-Forwarded'],
  ...['OIDC-Claim-Email', 'X-Authentik-Username', 'X-Token-Subject', 'X-Token-User-Roles'],
  ...['Tailscale-User-Login', 'X-ARR-ClientCert', 'X-Amzn-Mtls-Clientcert', 'X-TLS-Client-Subject', 'X-Email'],
  ...['X-MS-Token-AAD-Id-Token', 'X-User-Name', 'X-User-Roles', 'X-Groups'],
  ...['X-Amzn-Oidc-Data', 'X-Goog-Authenticated-User-Email', 'X-Goog-IAP-JWT-Assertion', 'X-MS-Client-Principal'],
];

const marker = 'claimed-by-the-caller';

/** What the upstream saw of fields that hold the marker. */
const arrived = async (to: PublicDoor, headers: Record<string, string>): Promise<string[]> => {
  const reply = await sendRequest(to.url, 'GET', '/api/orders/list', {
    headers: { ...to.asKey, ...headers, 'x-own': marker },
  });
  expect(reply.status).toBe(200);
  return Object.entries(upstream.seen.at(-1)?.headers ?? {})
    .filter(([, value]) => value === marker)
    .map(([name]) => name)
    .sort();
};

test('F-38 what a proxy would say of the caller never goes on from the caller, in any spelling', async () => {
  for (const name of claims) {
    const spellings = [name, name.toUpperCase(), name.replace('-', '_').toLowerCase()];
    for (const mark of ['_', '.', '+', '~']) spellings.push(name.replaceAll('-', mark));
    for (const spelling of spellings) {
      expect([spelling, await arrived(door, { [spelling]: marker })]).toEqual([spelling, ['x-own']]);
    }
  }
  // The gateway's own words have other spellings too, and so have credentials.
  for (const name of [
    'X_Forwarded_For',
    'X_Forwarded_Host',
    'X_Api_Key',
    'X_Client_Secret',
    'X_Request_Id',
    'Transfer_Encoding',
    'X.Orderpass.Id',
    'X*Orderpass*Tenants',
    'X.Forwarded.For',
    'X.Api.Key',
    'X.Request.Id',
    'Content.Type',
  ])
    expect([name, await arrived(door, { [name]: marker })]).toEqual([name, ['x-own']]);
});

test('F-38 the route table passes single claims on to an upstream, in their own spelling only', async () => {
  for (const name of claims) {
    const wanted = passed.includes(name.toLowerCase()) ? [name.toLowerCase(), 'x-own'].sort() : ['x-own'];
    expect([name, await arrived(passing, { [name]: marker })]).toEqual([name, wanted]);
  }
  expect(await arrived(passing, { x_http_method_override: marker })).toEqual(['x-own']);
});

test("F-38 a route table that would pass credentials or the gateway's own words on is refused", async () => {
  const folder = await mkdtemp(join(tmpdir(), 'orderpass-routes-'));
  const file = join(folder, 'routes.json');
  const load = async (upstreams: unknown) => {
    await writeFile(file, JSON.stringify({ ...routeFile(), upstreams }));
    return loadRouteTable(file, ['ordering']);
  };
  try {
    for (const name of [
      'authorization',
      'x-forwarded-for',
      'X-Forwarded-User',
      'x-orderpass-assertion',
      'set-cookie',
      'x-own',
    ])
      await expect(load({ ordering: { passHeaders: [name] } })).rejects.toThrow('upstreams.ordering.passHeaders.0');
    await expect(load({ elsewhere: { passHeaders: [] } })).rejects.toThrow('no route goes to this upstream');
    expect((await load({ ordering: { passHeaders: passed } })).upstreams.ordering?.passHeaders).toEqual(passed);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('A-243 a service gets the cookies that are not of the panel where it asks for them, and sets none of the panel', async () => {
  const asking = await openDoor(upstream.url, { table: { upstreams: { ordering: { passHeaders: ['cookie'] } } } });
  const cookieAt = async (to: PublicDoor, cookie: string): Promise<string | undefined> => {
    const reply = await sendRequest(to.url, 'GET', '/api/orders/list', { headers: { ...to.asKey, cookie } });
    expect(reply.status).toBe(200);
    return upstream.seen.at(-1)?.headers.cookie;
  };
  const { answer } = upstream;
  try {
    expect(await cookieAt(door, 'sid=1')).toBeUndefined();
    for (const [sent, wanted] of [
      ['sid=1', 'sid=1'],
      ['sid=1; lang=it; sid=2', 'sid=1; lang=it; sid=2'],
      ['a="x y"; =b; c', 'a="x y"; =b; c'],
      ['__Host-orderpass=s; sid=1; __host-ORDERPASS-pending=p', 'sid=1'],
      ['sid=1;__Host-orderpass-language=it;  \t__Host-orderpass =s;b=__Host-orderpass', 'sid=1;b=__Host-orderpass'],
      ['__Host-orderpass=s', undefined],
    ] as const)
      expect([sent, await cookieAt(asking, sent)]).toEqual([sent, wanted]);
    const own = ['sid=1; Path=/', '__Host-orderpass=s; Path=/; Secure', ' __HOST-orderpass-language=it', 'orderpass=1'];
    const nameless = ['=__Host-orderpass=s; Path=/', '= __Host-orderpass=s', '=other'];
    for (const set of [own, own.slice(0, 1), own.slice(1, 2), nameless]) {
      upstream.answer = (_req, res) => void res.writeHead(200, { 'set-cookie': set }).end();
      const { headers } = await sendRequest(door.url, 'GET', '/api/orders/list', { headers: door.asKey });
      const kept = set.filter((one) => !/^[=\s]*__host-orderpass/i.test(one));
      expect(headers['set-cookie']).toEqual(kept.length === 0 ? undefined : kept);
    }
  } finally {
    upstream.answer = answer;
    await asking.close();
  }
});
