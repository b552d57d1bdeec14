/* Models beside the first as config values: what they resolve to, in the config's JSON and keys, and their errors. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/experiment.h"
#include "sim/model_choice.h"
#include "tests/cmocka_fixed.h"

static const char *const dirs[] = {"configs", NULL};

#define BASE "[device]\nprofile = oneplus-15r\n[model]\nprofile = llama-3.2-3b\n[loader]\nmode = read\n[workload]\n"

static struct experiment *parse(const char *text, const char *const *profile_dirs)
{
    struct experiment *experiment;
    struct error err;
    if (!experiment_parse("x.ini", text, strlen(text), NULL, 0, profile_dirs, &experiment, &err))
        fail_because("%s", err.text);
    return experiment;
}

static void refused_as(enum status code, const char *text, const char *expected)
{
    struct experiment *experiment;
    struct error err = {0};
    assert_false(experiment_parse("x.ini", text, strlen(text), NULL, 0, dirs, &experiment, &err));
    assert_int_equal(err.code, code);
    assert_string_equal(err.text, expected);
}

static void refused(const char *text, const char *expected)
{
    refused_as(STATUS_USAGE, text, expected);
}

static void profiles_are_inlined(void **state)
{
    (void)state;
    struct error err;
    struct experiment *e = parse(BASE "draft = llama-3.2-1b:q8_0, llama-3.2-1b\n", dirs);
    assert_int_equal(experiment_run_count(e), 2);
    const struct run_config *config = experiment_run(e, 0);
    assert_string_equal(config->draft->text, "llama-3.2-1b:q8_0");
    assert_int_equal(config->draft->spec.quant, QUANT_Q8_0);
    assert_int_equal(config->draft->spec.shape.layers, 16);
    assert_string_equal(experiment_run(e, 1)->draft->text, "llama-3.2-1b:q4_0");
    const char *json = experiment_run_json(e, 0, &err);
    assert_non_null(json);
    assert_non_null(strstr(json, "\"draft\":\"llama-3.2-1b:q8_0\",\"draft_shape\":{\"layers\":16,"));
    assert_non_null(strstr(json, "\"draft_tokens\":4,\"accept\":700000"));
    assert_string_not_equal(experiment_run_key(e, 0, &err), experiment_run_key(e, 1, &err));
    experiment_free(e);
    e = parse(BASE "prompt_tokens = 3\n", dirs);
    assert_null(experiment_run(e, 0)->draft);
    assert_null(strstr(experiment_run_json(e, 0, &err), "draft"));
    experiment_free(e);
}

/* A profile of one name with other numbers is another run. */
static void numbers_make_the_key(void **state)
{
    (void)state;
    char folder[] = "/tmp/pocketload-choice-XXXXXX", path[128], key[2][RUN_KEY_TEXT];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/models", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/models/tiny.ini", folder);
    const char *const both[] = {folder, "configs", NULL};
    for (unsigned i = 0; i < 2; i++) {
        struct error err;
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file,
                "[model]\nlayers = %u\nwidth = 64\nvocab = 100\nheads = 4\nkv_heads = 2\nhead_size = 16\nffn = 96\n",
                2 + i);
        fclose(file);
        struct experiment *e = parse(BASE "draft = tiny:f16\n", both);
        memcpy(key[i], experiment_run_key(e, 0, &err), RUN_KEY_TEXT);
        experiment_free(e);
    }
    assert_string_not_equal(key[0], key[1]);
    unlink(path);
    snprintf(path, sizeof path, "%s/models", folder);
    rmdir(path);
    rmdir(folder);
}

/* A config.json is numbers, as a profile is. */
static void config_json_is_a_model(void **state)
{
    (void)state;
    char folder[] = "/tmp/pocketload-choice-XXXXXX", path[128], text[512];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/config.json", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("{\"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 64, \"intermediate_size\": 96,\n"
          "\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"num_hidden_layers\": 2, \"vocab_size\": 100}\n",
          file);
    fclose(file);
    snprintf(text, sizeof text, BASE "draft = %s, %s:q8_0\n", path, path);
    struct experiment *e = parse(text, dirs);
    struct error err;
    const char *const label = strrchr(folder, '/') + 1;
    for (size_t i = 0; i < 2; i++) {
        const struct model_choice *draft = experiment_run(e, i)->draft;
        snprintf(text, sizeof text, "%s:%s", label, i == 0 ? "q4_0" : "q8_0");
        assert_string_equal(draft->text, text);
        assert_string_equal(draft->spec.name, label);
        assert_string_equal(draft->spec.file, path);
        assert_int_equal(draft->spec.quant, i == 0 ? QUANT_Q4_0 : QUANT_Q8_0);
    }
    assert_string_not_equal(experiment_run_key(e, 0, &err), experiment_run_key(e, 1, &err));
    experiment_free(e);
    char other[160];
    snprintf(other, sizeof other, "%s/model.gguf", folder);
    assert_int_equal(rename(path, other), 0);
    snprintf(text, sizeof text, BASE "draft = %s:q8_0\n", other);
    refused(text, "x.ini:8: workload.draft: model.gguf brings its weights as they are; expected it without :q8_0");
    unlink(other);
    rmdir(folder);
    refused_as(STATUS_IO, BASE "draft = config.json:q8_0\n",
               "x.ini:8: workload.draft: cannot find config.json: No such file or directory");
}

static void errors_name_their_place(void **state)
{
    (void)state;
    refused(BASE "draft = lama-3.2-1b\n",
            "x.ini:8: workload.draft: unknown model \"lama-3.2-1b\": did you mean llama-3.2-1b?");
    refused(BASE "draft = llama-3.2-1b:q4_1x\n",
            "x.ini:8: workload.draft: quantisation: unknown value \"q4_1x\": did you mean q4_1?");
    refused_as(STATUS_IO, BASE "kind = chat\nsecond = nothing.gguf\n",
               "x.ini:9: workload.second: cannot find nothing.gguf: No such file or directory");
    refused(BASE "kind = chat\nsecond = llama-3.2-1b\ndraft = llama-3.2-1b\n",
            "x.ini:9: workload.second: given beside workload.draft; expected one of them");
    refused(BASE "kind = chat\nprompt_tokens = 0\n",
            "x.ini:9: workload.prompt_tokens: a chat's turn begins with a prompt; expected 1 or more");
    refused(
        BASE "kind = chat\nbackground = half\n",
        "x.ini:9: workload.background: \"half\" does not begin with a number: write a share like 35% or 0.35 (or the "
        "word none or restart)");
    refused(BASE "kind = chat\nbackground = restrat\n",
            "x.ini:9: workload.background: unknown value \"restrat\": did you mean restart?");
    refused("[device]\nprofile = oneplus-15r\n[model]\nblocks = layer0:1MiB\n[loader]\nmode = read\n[workload]\n"
            "adapters = 2\n",
            "x.ini:8: workload.adapters: the model \"blocks\" is a list of blocks: expected a profile or a file, whose "
            "matrices are known");
}

/* Pin rules name blocks of all parts; models of one config are told apart. */
static void policies_see_all_blocks(void **state)
{
    (void)state;
    struct error err;
    struct experiment *e = parse("[device]\nprofile = oneplus-15r\n[model]\nprofile = llama-3.2-3b\n[loader]\n"
                                 "budget = 2GiB\n[policy]\nname = lru+blocks(draft/layer3,layer3)\n[workload]\n"
                                 "draft = llama-3.2-1b, qwen3-1.7b\n",
                                 dirs);
    const char *section, *key;
    struct model model;
    assert_true(run_model_build(experiment_run(e, 0), &model, &section, &key, &err));
    assert_int_not_equal(model_find(&model, "draft/layer3"), BLOCK_NONE);
    assert_true(run_models_alike(experiment_run(e, 0), experiment_run(e, 0)));
    assert_false(run_models_alike(experiment_run(e, 0), experiment_run(e, 1)));
    model_free(&model);
    experiment_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_are_inlined),    cmocka_unit_test(numbers_make_the_key),
        cmocka_unit_test(config_json_is_a_model),  cmocka_unit_test(errors_name_their_place),
        cmocka_unit_test(policies_see_all_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
