/** The health check of the image: 0 when /readyz of the internal listener is 200. The certificate is not checked: its host is another. */
import { request as plain } from 'node:http';
import { request as encrypted } from 'node:https';

const {
  ORDERPASS_INTERNAL_HOST: listening,
  ORDERPASS_INTERNAL_PORT: port,
  ORDERPASS_INTERNAL_TLS_CERT_FILE: certificate,
} = process.env;
// One of these stands for every address of the machine and cannot be asked itself.
const host = ['', '0.0.0.0', '::', undefined].includes(listening) ? '127.0.0.1' : listening;
const request = certificate ? encrypted : plain;
request({ host, port, path: '/readyz', rejectUnauthorized: false, timeout: 9_000 })
  .on('response', (answer) => process.exit(answer.statusCode === 200 ? 0 : 1))
  .on('timeout', () => process.exit(1))
  .on('error', () => process.exit(1))
  .end();
