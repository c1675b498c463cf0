import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * The system takes the port of an outgoing connection from 32768 on, elsewhere from 49152 on. A port below stays free until the
 * test listens on it, and again while a program that had it is restarted.
 */
const [from, to] = [10_240, 32_768];

/** A port of loopback that is free now, and that no connection takes meanwhile. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = from + Math.floor(Math.random() * (to - from));
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
};
