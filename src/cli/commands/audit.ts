import type { Command } from 'commander';
import type { Output } from '../output.ts';
import { auditVerifyCommand } from './audit-verify.ts';
import { auditWhoCommand } from './audit-who.ts';

export const auditCommands = (program: Command, output: Output): void => {
  const group = program.command('audit').description('who was issued what, who used it, who was refused and why');
  auditVerifyCommand(group, output);
  auditWhoCommand(group, output);
};
