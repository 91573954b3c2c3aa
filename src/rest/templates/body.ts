import { z } from 'zod'
import { modesByRuntype } from '../instances/input.ts'
import { isObject } from '../list-parameters.ts'

const text = (about: string) => z.string().optional().describe(about)
const flag = (about: string) => z.boolean().optional().describe(about)

/** An object, or a text. Read by hand, since a schema of records leaves out a key that is called __proto__. */
const objectOrText = (about: string) =>
  z
    .unknown()
    .refine(value => typeof value === 'string' || isObject(value), 'must be an object or a text.')
    .optional()
    .meta({ anyOf: [{ type: 'object', additionalProperties: true }, { type: 'string' }], description: about })

export const templateBody = z
  .object({
    name: text('What you call it, 1 to 256 characters.'),
    image: text('A container image.'),
    tag: text('Its tag, where that does not stand in the image.'),
    env: objectOrText('Variables and ports as flags of docker, "-e A=1 -p 80:80", or as an object.'),
    onstart: text('Shell commands that run once it is up, at most 4048 characters.'),
    runtype: z
      .enum([...modesByRuntype.keys()])
      .optional()
      .describe('The launch mode. Left to the rental when nothing says so.'),
    use_ssh: flag('Whether SSH logs in to it, where runtype does not say.'),
    ssh_direct: flag('Whether SSH has a public port of its own.'),
    jup_direct: flag('Whether the notebook has a public port of its own.'),
    use_jupyter_lab: flag('The lab interface instead of the notebook.'),
    jupyter_dir: text('Where the notebook server starts.'),
    args_str: text('The arguments of the image, in the launch mode args.'),
    docker_login_repo: text('A private registry.'),
    docker_login_user: text('Who pulls.'),
    docker_login_pass: text('The password, which is kept encrypted and shown to nobody.'),
    recommended_disk_space: z
      .union([z.number(), z.string().regex(/^\d{1,6}(\.\d{1,9})?$/)])
      .optional()
      .describe('The disk in GB, at least 8. It may be a text.'),
    extra_filters: objectOrText('A search for offers that suit it.'),
    private: flag('Whether nobody else can rent with it; true when absent. A public one holds no secret.'),
    desc: text('What it is, in at most 2048 characters.'),
    readme: text('What it is, in at most 50,000 characters.'),
    readme_visible: flag('Whether that is to be shown.'),
    href: text('A page about it.'),
    repo: text('A page of its image.'),
    volume_info: z
      .looseObject({
        mount_path: z.string().nullish().describe('The path inside.'),
        size: z.number().nullish().describe('How large, in GB.'),
      })
      .optional()
      .describe('Where a volume would be of use. It attaches none.'),
  })
  .meta({ id: 'TemplateSettings', description: 'Settings to begin rentals with.' })

export const templateUpdateBody = templateBody
  .extend({
    hash_id: text('The template, by its hash before the change.').optional(),
    template: z
      .looseObject({ hash_id: z.string().nullish().describe('The same.') })
      .optional()
      .describe('Another place for hash_id.'),
  })
  .meta({ id: 'TemplateChange', description: 'What of a template is to be another. What is absent stays as it is.' })
