/** Two processes behind one port, of which one is stopped and then killed while it is handed a connection. Prints the answers. */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { handOverLostConnections } from '#src/app/processes/node-cluster/lost-connections.ts';

if (cluster.isWorker) createServer((socket) => socket.end('answer')).listen(Number(process.env.TEST_PORT), '127.0.0.1');
else {
  const workers = [cluster.fork(), cluster.fork()];
  for (const worker of workers)
    handOverLostConnections(worker.process, () => workers.some((one) => one !== worker && one.isConnected()));
  await Promise.all(workers.map((worker) => once(worker, 'listening')));
  workers[0]?.process.kill('SIGSTOP');
  const answers = Array.from({ length: 4 }, async () => {
    const socket = connect(Number(process.env.TEST_PORT), '127.0.0.1');
    return text(socket).catch(() => 'lost');
  });
  // Those of the other process have their answer, and one waits for the stopped process.
  let open = answers.length;
  for (const one of answers)
    void one.then(() => {
      open -= 1;
      if (open === 1) workers[0]?.process.kill('SIGKILL');
    });
  process.stdout.write(JSON.stringify(await Promise.all(answers)));
  workers[1]?.process.kill('SIGKILL');
}
