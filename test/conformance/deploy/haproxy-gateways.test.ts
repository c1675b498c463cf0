/** `config/haproxy-gateways.cfg` with two small servers in place of gateways; `npm run test:ha` runs it with real ones. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { hasHaproxy, startHaproxy } from '../../ha/haproxy.ts';
import { until } from '../../support/until.ts';

/** Says its own name and who calls, by the header that HAProxy adds. */
const startGateway = async (name: string) => {
  let isReady = true;
  const server = createServer((req, res) => {
    res.statusCode = req.url === '/readyz' && !isReady ? 503 : 200;
    res.end(`${name} ${req.headers['x-forwarded-for']}`);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    drain: () => {
      isReady = false;
    },
  };
};

test.runIf(hasHaproxy)(
  'HAProxy by the example sends requests to the gateways that are ready, with the address of the caller',
  async () => {
    const [one, two] = [await startGateway('one'), await startGateway('two')];
    const balancer = await startHaproxy([one.address, two.address]);
    onTestFinished(balancer.close);
    const ask = async (): Promise<string> => (await fetch(balancer.url)).text();
    await until(async () => (await balancer.upCount()) === 2);
    expect([await ask(), await ask()].toSorted()).toEqual(['one 127.0.0.1', 'two 127.0.0.1']);
    one.drain();
    // It takes three checks; until then each of the two gets every other request.
    await until(async () => [await ask(), await ask(), await ask()].every((answer) => answer.startsWith('two ')));
  },
);
