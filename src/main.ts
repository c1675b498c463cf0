import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Compiling the program anew costs more than most commands. Where the folder cannot be written, as in a read-only image, the
// cache is off. The folder is never a shared one for temporary files, where another user could replace the compiled program.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/orderpass', import.meta.url)));

const { runCommandLine } = await import('./cli/index.ts');
process.exitCode = await runCommandLine(process.argv.slice(2));
