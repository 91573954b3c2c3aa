import { z } from 'zod'
import { modesByRuntype } from '../instances/input.ts'
import { isObject } from '../json-values.ts'

const text = (about: string) => z.string().optional().describe(about)
const flag = (about: string) => z.boolean().optional().describe(about)

/** An object or a string. Checked by hand, since zod's record drops a key named __proto__. */
const objectOrText = (about: string) =>
  z
    .unknown()
    .refine(value => typeof value === 'string' || isObject(value), 'must be an object or a string.')
    .optional()
    .meta({ anyOf: [{ type: 'object', additionalProperties: true }, { type: 'string' }], description: about })

export const templateBody = z
  .object({
    name: text('Name of the template, 1 to 256 characters.'),
    image: text('Container image.'),
    tag: text('Tag of the image, if the image does not include it.'),
    env: objectOrText('Variables and ports as Docker flags, "-e A=1 -p 80:80", or as an object.'),
    onstart: text('Shell commands to run once the instance is up, at most 4048 characters.'),
    runtype: z
      .enum([...modesByRuntype.keys()])
      .optional()
      .describe('Launch mode. Without it and the flags below, the rental chooses.'),
    use_ssh: flag('Whether instances have SSH, if runtype is absent.'),
    ssh_direct: flag('Whether SSH has a public port of its own.'),
    jup_direct: flag('Whether the notebook has a public port of its own.'),
    use_jupyter_lab: flag('Start JupyterLab instead of the classic notebook.'),
    jupyter_dir: text('Directory in which the notebook server starts.'),
    args_str: text('Arguments that replace those of the image, in the launch mode args.'),
    docker_login_repo: text('Host of a private registry.'),
    docker_login_user: text('User name for the private registry.'),
    docker_login_pass: text('Password for the private registry; stored encrypted and never shown.'),
    recommended_disk_space: z
      .union([z.number(), z.string().regex(/^\d{1,6}(\.\d{1,9})?$/)])
      .optional()
      .describe('Disk size in GB, at least 8. Also accepted as a string.'),
    extra_filters: objectOrText('Search for offers that suit the template.'),
    private: flag(
      'Whether only the account can use the template; true by default. A public template cannot have secrets.',
    ),
    desc: text('Short description, at most 2048 characters.'),
    readme: text('Long description, at most 50,000 characters.'),
    readme_visible: flag('Whether to show the readme.'),
    href: text('URL of a page about the template.'),
    repo: text('URL of the page of the image.'),
    volume_info: z
      .looseObject({
        mount_path: z.string().nullish().describe('Path inside the instance.'),
        size: z.number().nullish().describe('Size of the volume, in GB.'),
      })
      .optional()
      .describe('Suggested volume, a hint for forms. It attaches no volume.'),
  })
  .meta({ id: 'TemplateSettings', description: 'Settings of a template for rentals.' })

export const templateUpdateBody = templateBody
  .extend({
    hash_id: text('Hash of the template before the change.').optional(),
    template: z
      .looseObject({ hash_id: z.string().nullish().describe('The same as hash_id.') })
      .optional()
      .describe('Alternative place for hash_id.'),
  })
  .meta({ id: 'TemplateChange', description: 'Changes to a template. Absent fields stay as they are.' })
