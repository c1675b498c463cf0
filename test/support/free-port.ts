import { type AddressInfo, createServer } from 'node:net';

/** A port of loopback that nobody listened on a moment ago, for a program that is told its port. */
export const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
