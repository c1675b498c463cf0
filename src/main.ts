import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Reading the program anew costs more than most commands. What cannot be kept, as in a read-only image, is read anew. Never
// in a shared folder for temporary files, where somebody else could put a program in our place.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/orderpass', import.meta.url)));

const { runCommandLine } = await import('./cli/index.ts');
process.exitCode = await runCommandLine(process.argv.slice(2));
