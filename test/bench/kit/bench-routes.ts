/** The route table of the bench: that of the program, an upload, and as many others that 2,000 routes are there. */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Takes bodies of every type. */
export const uploadPath = '/bench/upload';

const routesMin = 2_000;

/** Returns the path of the file. The upstream learns who calls by a signed token. */
export const writeRoutes = async (folder: string): Promise<string> => {
  const table = JSON.parse(readFileSync(new URL('../../../config/routes.json', import.meta.url), 'utf8')) as {
    routes: object[];
  };
  const kinds = ['api_key', 'api_client', 'bearer'];
  const upload = {
    ...{ id: 'bench.upload', method: 'POST', path: uploadPath, scopes: ['read:orders'], class: 'R', kinds },
    ...{ upstream: 'ordering', body: 'any', bodyBytesMax: 100_000_000 },
  };
  // A quarter each of literal paths, paths with one and two parameters, and everything below.
  const others = Array.from({ length: routesMin / 4 }, (_, index) => index).flatMap((index) =>
    [`/s${index}/list`, `/s${index}/items/{item}`, `/s${index}/{shop}/orders/{order}`, `/s${index}/files/*`].map(
      (path, kind) => ({ id: `bench.s${index}.${kind}`, path, scopes: ['read:orders'], upstream: 'ordering' }),
    ),
  );
  const file = join(folder, 'routes.json');
  const upstreams = { ordering: { identity: 'jwt' } };
  await writeFile(file, JSON.stringify({ ...table, upstreams, routes: [...table.routes, upload, ...others] }));
  return file;
};
