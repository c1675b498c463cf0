import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import type { Principal } from '#src/gateway/model/principal.ts';
import type { Exchange } from '#src/gateway/request/exchange.ts';
import { createWatchOpen } from '#src/gateway/upstream/watch-open.ts';
import { until } from '../../support/until.ts';

test('A-775 the callers of many open connections are checked some at a time, so that none is refused because of the others', async () => {
  let running = 0;
  let most = 0;
  const checked = new Set<string>();
  const watch = createWatchOpen(async (exchange, principal) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    checked.add(exchange.requestId);
    if (exchange.requestId === 'req_7') throw new Error('revoked');
    return principal;
  });
  const ended: string[] = [];
  const connections = Array.from({ length: 300 }, (_, number) => {
    const closing = new EventEmitter();
    const exchange = { requestId: `req_${number}`, principal: {} as Principal } as Exchange;
    watch(exchange, closing, () => {
      ended.push(exchange.requestId);
      closing.emit('close');
    });
    return closing;
  });
  await until(() => checked.size === 300 && running === 0);
  expect(ended).toEqual(['req_7']);
  expect(most).toBeLessThanOrEqual(64);
  for (const closing of connections) closing.emit('close');
});
