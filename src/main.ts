/** The program; cli/launch.mjs starts it with a Node that is new enough and a cache of compiled code. */
import { runCommandLine } from './cli/index.ts';
import { dropAfterClosedPipe } from './cli/terminal/output.ts';

dropAfterClosedPipe();

process.exitCode = await runCommandLine(process.argv.slice(2));
