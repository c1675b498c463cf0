/**
 * How long does a revoked token take to its receiver? Two gateways and a worker as processes on one store; tokens are revoked at the
 * gateways in turn, and each is awaited at a receiver of Shared Signals. Counted from the answer of the revocation, which follows its
 * commit. Prints the median, the 99th percentile and the slowest; exit code 1 when the 99th percentile is not below a second.
 * Arguments: revocations.
 */
import { randomBytes } from 'node:crypto';
import { type RunningProgram, runJson, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status } from '../../support/webhook-receiver.ts';
import { print, startPart, stopPart } from '../kit/parts.ts';

const countDefault = 100;
const goalMs = 1_000;

const count = Number(process.argv[2] ?? countDefault);
const store = await startPart('store', undefined, []);
const receiver = await startReceiver(status(202));
const env = {
  DATABASE_URL: String(store.ready.url),
  ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
  ORDERPASS_ORIGIN: 'http://localhost:4000',
  ORDERPASS_SIGNALS: 'on',
  ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
  ORDERPASS_UPSTREAMS: 'ordering=http://127.0.0.1:9',
  ORDERPASS_INTERNAL_PORT: '',
};
const programs: RunningProgram[] = [];
for (const role of ['gateway', 'gateway', 'worker'])
  programs.push(await startProgram({ ...env, ORDERPASS_ROLE: role }));
const urlOf = (index: number): string => programs[index % 2]?.url ?? '';

const { restuid } = await runJson(['restaurant', 'create', '--name', 'Bench'], env);
const words = [
  'client',
  'create',
  '--name',
  'Receiver',
  '--restaurant',
  String(restuid),
  '--scope',
  'ssf.manage ssf.read',
];
const { client_id, client_secret } = await runJson(words, env);
const proof = { client_id: String(client_id), client_secret: String(client_secret) };

const post = (url: string, fields: Record<string, string>): Promise<Response> =>
  fetch(url, { method: 'POST', body: new URLSearchParams({ ...fields, ...proof }) });
const tokenAt = async (index: number): Promise<string> => {
  const answer = await post(`${urlOf(index)}/api/oauth/token`, { grant_type: 'client_credentials' });
  return ((await answer.json()) as { access_token: string }).access_token;
};

const stream = await fetch(`${urlOf(0)}/api/oauth/signals/streams`, {
  method: 'POST',
  headers: { authorization: `Bearer ${await tokenAt(0)}`, 'content-type': 'application/json' },
  body: JSON.stringify({ delivery: { method: 'urn:ietf:rfc:8935', endpoint_url: `${receiver.url}/sets` } }),
});
if (stream.status !== 201) throw new Error(`the stream was not made: ${stream.status}`);

const sessionOf = (set: string): string => {
  const claims = JSON.parse(Buffer.from(set.split('.')[1] ?? '', 'base64url').toString()) as {
    sub_id: { session?: { id: string } };
  };
  return claims.sub_id.session?.id ?? '';
};
const jtiOf = (token: string): string =>
  (JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { jti: string }).jti;

const tookMs: number[] = [];
for (let index = 0; index < count; index += 1) {
  const token = await tokenAt(index);
  const answer = await post(`${urlOf(index)}/api/oauth/revoke`, { token });
  const answeredAt = Date.now();
  if (answer.status !== 200) throw new Error(`a revocation was answered with ${answer.status}`);
  const jti = jtiOf(token);
  const arrival = () => receiver.received.find(({ body }) => sessionOf(body) === jti);
  await until(() => arrival() !== undefined);
  tookMs.push(Math.max(0, (arrival()?.at ?? 0) - answeredAt));
}
tookMs.sort((a, b) => a - b);
const at = (share: number): number => tookMs[Math.min(tookMs.length - 1, Math.ceil(share * tookMs.length) - 1)] ?? 0;
const [median, p99, slowest] = [at(0.5), at(0.99), at(1)];
print(`${count} revocations at two gateways: median ${median} ms, p99 ${p99} ms, slowest ${slowest} ms`);
await Promise.all(programs.map((program) => program.stop()));
await receiver.close();
await stopPart(store);
process.exitCode = p99 < goalMs ? 0 : 1;
