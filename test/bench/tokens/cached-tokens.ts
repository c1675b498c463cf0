/** What remembered access tokens weigh: 100,000 real ones verified into the cache of the gateway. Measures only, no goal. */
import { generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import { createBearerTokens } from '#src/gateway/access/bearer-tokens.ts';
import { systemClock } from '#src/platform/clock.ts';
import { print } from '../kit/parts.ts';

const count = 100_000;
const origin = 'https://api.example';
const { gc } = globalThis;
if (gc === undefined) throw new Error('run with --expose-gc');

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const key = { publicKey, signsUntilMs: Number.POSITIVE_INFINITY };
const tokens = createBearerTokens({ origin, clock: systemClock, findKey: () => key, entriesMax: count });
const sign = (index: number): Promise<string> =>
  new SignJWT({ client_id: `opc_${index % 500}`, scope: 'read:orders write:orders read:customers' })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'x'.repeat(43) })
    .setIssuer(origin)
    .setAudience(origin)
    .setSubject(`opc_${index % 500}`)
    .setJti(`token-${String(index).padStart(15, '0')}`)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey);

await tokens.verify(await sign(0));
gc();
const before = process.memoryUsage();
let characters = 0;
for (let index = 1; index < count; index += 1) {
  const token = await sign(index);
  characters = token.length;
  await tokens.verify(token);
  if (index % 20_000 === 0) process.stderr.write(`${index} of ${count}\n`);
}
gc();
const after = process.memoryUsage();
const bytes = after.heapUsed + after.external - before.heapUsed - before.external;
print(
  `${count} remembered tokens of ${characters} characters: ${(bytes / 2 ** 20).toFixed(0)} MiB, ${Math.round(bytes / count)} bytes each`,
);
// The cache is still in use here, so it cannot have been collected before the measurement.
await tokens.verify(await sign(0));
