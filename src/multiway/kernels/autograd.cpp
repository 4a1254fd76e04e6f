/* A chain of products as one node of autograd, and as the passes of operators that graphs hold: what `_Chain` of
 * `compiled.py` and `Operator` of `operators.py` do, without Python between a call and its sum. A module of Python,
 * compiled for the torch that is installed; where it was not, or declines, Python does the work. */

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/forward_grad.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/library.h>

using at::Tensor;
using torch::autograd::variable_list;

static int (*run_chain)(const void *layout, const void *pointers, int64_t rows, int64_t threads, void *launcher);
static void *launcher;
static int64_t thread_work;
static PyObject *derive; /* gradients in operations of torch: derive(plain, tensors, needed, grad) */
static uint64_t plain_keys;

enum { LAYOUT_ADDRESS = 1, OUT_SHAPE = 3, WORK, INPUTS }; /* fields of `compiled.Chain` */

static int64_t whole(PyObject *tuple, Py_ssize_t field) { return PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, field)); }

/* Nobody watches operations: no transform, mode, trace or autocast; what the dispatcher includes and excludes is as ever. */
static bool is_unwatched() {
    const auto &local = c10::impl::raw_local_dispatch_key_set;
    return !local.included_ && !local.excluded_ && !torch::autograd::ForwardADLevel::try_get_by_idx(0);
}

/* Float32 in the processor's memory, contiguous, and nothing but its numbers. */
static bool is_plain(const Tensor &tensor) {
    return tensor.defined() && (tensor.key_set().raw_repr() | plain_keys) == plain_keys &&
           tensor.scalar_type() == at::kFloat && tensor.is_contiguous();
}

static bool are_plain(const variable_list &tensors) { return std::all_of(tensors.begin(), tensors.end(), is_plain); }

/* As many rows as the chain is for, and at least one. */
static bool fits(PyObject *chain, const Tensor &x) { return x.numel() && x.numel() == x.size(0) * whole(chain, INPUTS); }

/* Forward into `out`, or, of its gradient `grad`, backward into those of x and parameters that are defined. */
static void call(PyObject *chain, const variable_list &tensors, const Tensor &out, const Tensor &grad,
                 const variable_list &into) {
    auto address = [](const Tensor &tensor) { return tensor.defined() ? tensor.data_ptr() : nullptr; };
    c10::SmallVector<void *, 16> given{tensors[0].data_ptr(), address(out), address(grad),
                                       into.empty() ? nullptr : address(into[0])};
    for (size_t i = 1; i < tensors.size(); i++) given.push_back(tensors[i].data_ptr());
    for (size_t i = 1; i < tensors.size(); i++) given.push_back(into.empty() ? nullptr : address(into[i]));
    int64_t rows = tensors[0].size(0), worth = rows * whole(chain, WORK) / thread_work;
    int64_t threads = std::max<int64_t>(1, std::min<int64_t>(at::get_num_threads(), worth));
    auto layout = reinterpret_cast<const void *>(whole(chain, LAYOUT_ADDRESS));
    if (run_chain(layout, given.data(), rows, threads, threads > 1 ? launcher : nullptr))
        TORCH_CHECK(false, "multiway kernels: no memory for the scratch of a chain of products.");
}

static Tensor forward(PyObject *chain, const variable_list &tensors) {
    PyObject *shape = PyTuple_GET_ITEM(chain, OUT_SHAPE);
    c10::SmallVector<int64_t, 6> sizes{tensors[0].size(0)};
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); i++) sizes.push_back(whole(shape, i));
    Tensor out = at::empty(sizes, tensors[0].options().requires_grad(false));
    call(chain, tensors, out, Tensor(), {});
    return out;
}

/* ---- A node of autograd ---- */

struct ChainBackward : torch::autograd::Node {
    PyObject *chain, *plain;
    std::vector<torch::autograd::SavedVariable> saved;

    ChainBackward(PyObject *chain, PyObject *plain, const variable_list &tensors)
        : Node(torch::autograd::collect_next_edges(tensors)), chain(Py_NewRef(chain)), plain(Py_NewRef(plain)) {
        for (const auto &tensor : tensors) saved.emplace_back(tensor, false);
    }

    ~ChainBackward() override {
        if (!Py_IsInitialized()) return;
        pybind11::gil_scoped_acquire held;
        Py_DECREF(chain);
        Py_DECREF(plain);
    }

    void release_variables() override {
        for (auto &each : saved) each.reset_data();
    }

    std::string name() const override { return "ChainBackward"; }

    variable_list apply(variable_list &&above) override {
        variable_list tensors, into(saved.size());
        if (!above[0].defined()) return into;
        for (auto &each : saved) tensors.push_back(each.unpack());
        Tensor grad = above[0].contiguous();
        if (at::GradMode::is_enabled() || !is_unwatched() || !is_plain(grad) || !are_plain(tensors))
            return by_torch(grad, tensors);
        for (size_t i = 0; i < into.size(); i++)
            if (task_should_compute_output(i)) into[i] = at::empty_like(tensors[i]);
        pybind11::gil_scoped_acquire held; /* to read the chain */
        call(chain, tensors, Tensor(), grad, into);
        return into;
    }

    variable_list by_torch(const Tensor &grad, const variable_list &tensors) {
        pybind11::gil_scoped_acquire held;
        pybind11::list given, needed;
        for (size_t i = 0; i < tensors.size(); i++) {
            given.append(pybind11::reinterpret_steal<pybind11::object>(THPVariable_Wrap(tensors[i])));
            needed.append(task_should_compute_output(i));
        }
        PyObject *made = PyObject_CallFunction(derive, "OOON", plain, given.ptr(), needed.ptr(), THPVariable_Wrap(grad));
        if (!made) throw python_error();
        auto list = pybind11::reinterpret_steal<pybind11::list>(made);
        variable_list into;
        for (auto each : list) into.push_back(each.is_none() ? Tensor() : THPVariable_Unpack(each.ptr()));
        return into;
    }
};

/* By the pointer that this version of torch has for nodes. */
template <class Owner> static Owner owned(ChainBackward *node) {
    if constexpr (std::is_constructible_v<Owner, ChainBackward *>) return Owner(node);
    else return Owner::unsafe_steal_from_new(node);
}

/* run(chain, plain, x, *parameters): the result, or None where something is not plain. */
static PyObject *run(PyObject *, PyObject *const *given, Py_ssize_t count) {
    HANDLE_TH_ERRORS
    variable_list tensors;
    tensors.reserve(count);
    for (Py_ssize_t i = 2; i < count; i++) {
        if (!THPVariable_CheckExact(given[i])) Py_RETURN_NONE;
        tensors.push_back(THPVariable_Unpack(given[i]));
    }
    PyObject *chain = given[0];
    if (!is_unwatched() || !are_plain(tensors) || !fits(chain, tensors[0])) Py_RETURN_NONE;
    Tensor out = forward(chain, tensors);
    auto needs = [](const Tensor &tensor) { return tensor.requires_grad(); };
    if (at::GradMode::is_enabled() && std::any_of(tensors.begin(), tensors.end(), needs)) {
        using Owner = decltype(torch::autograd::Edge::function);
        torch::autograd::create_gradient_edge(out, owned<Owner>(new ChainBackward(chain, given[1], tensors)));
    }
    return THPVariable_Wrap(out);
    END_HANDLE_TH_ERRORS
}

/* ---- Passes of operators ---- */

/* `<name>_forward(x, parameters, constants)` or `<name>_backward(grad, x, parameters, needed, constants)`. A functor of
 * the dispatcher, which calls it for tensors in the processor's memory when nobody watches any more. */
struct Pass : c10::OperatorKernel {
    size_t x; /* where it stands among the arguments: behind a gradient or not */
    PyObject *find, *python;
    std::map<std::vector<int64_t>, PyObject *> chains; /* found once each, and kept */

    Pass(bool is_backward, PyObject *find, PyObject *python)
        : x(is_backward), find(Py_NewRef(find)), python(Py_NewRef(python)) {}

    void operator()(const c10::OperatorHandle &name, c10::DispatchKeySet, torch::jit::Stack *stack) {
        size_t count = name.schema().arguments().size();
        c10::IValue made = answer(torch::jit::last(*stack, count));
        torch::jit::drop(*stack, count);
        stack->push_back(std::move(made));
    }

    c10::IValue answer(c10::ArrayRef<c10::IValue> given) {
        variable_list tensors{given[x].toTensor().contiguous()};
        for (const Tensor &each : given[x + 1].toTensorVector()) tensors.push_back(each.contiguous());
        Tensor grad = x ? given[0].toTensor().contiguous() : tensors[0];
        pybind11::gil_scoped_acquire held; /* to read the chain */
        PyObject *chain = is_plain(grad) && are_plain(tensors) && tensors[0].numel() ? chain_of(tensors, given) : nullptr;
        if (!chain || !fits(chain, tensors[0])) return by_python(given);
        if (!x) return forward(chain, tensors);
        variable_list into;
        for (size_t i = 0; i < tensors.size(); i++)
            if (given[x + 2].toBoolList()[i]) into.push_back(at::empty_like(tensors[i]));
            else into.emplace_back();
        call(chain, tensors, Tensor(), grad, into);
        for (Tensor &each : into)
            if (!each.defined()) each = at::empty({0}, grad.options());
        return into;
    }

    /* By what `find` looks at: the rows' number of bits, shapes of parameters, constants. */
    PyObject *chain_of(const variable_list &tensors, c10::ArrayRef<c10::IValue> given) {
        auto constants = given.slice(x ? 4 : 2);
        std::vector<int64_t> key{std::bit_width(static_cast<uint64_t>(tensors[0].size(0)))};
        for (size_t i = 1; i < tensors.size(); i++) {
            key.push_back(tensors[i].dim());
            key.insert(key.end(), tensors[i].sizes().begin(), tensors[i].sizes().end());
        }
        for (const auto &each : constants) {
            if (each.isInt()) key.push_back(each.toInt());
            else key.insert(key.end(), each.toStringRef().begin(), each.toStringRef().end());
        }
        auto known = chains.find(key);
        if (known != chains.end()) return known->second;
        std::vector<c10::IValue> asked{given[x], given[x + 1]};
        asked.insert(asked.end(), constants.begin(), constants.end());
        auto found = called(find, asked);
        return found.is_none() ? nullptr : chains[key] = found.release().ptr();
    }

    c10::IValue by_python(c10::ArrayRef<c10::IValue> given) {
        auto made = called(python, given);
        if (!x) return THPVariable_Unpack(made.ptr());
        variable_list into;
        for (auto each : made) into.push_back(THPVariable_Unpack(each.ptr()));
        return into;
    }

    static pybind11::object called(PyObject *function, c10::ArrayRef<c10::IValue> given) {
        pybind11::tuple arguments(given.size());
        for (size_t i = 0; i < given.size(); i++) arguments[i] = torch::jit::toPyObject(given[i]);
        return pybind11::handle(function)(*arguments);
    }
};

/* serve(name of an operator, whether it is a backward pass, find, python): take its calls, those that `python` takes
 * otherwise; find(x, parameters, constants) is its chain, or None. */
static PyObject *serve(PyObject *, PyObject *const *given, Py_ssize_t) {
    HANDLE_TH_ERRORS
    static auto *library = new torch::Library(torch::Library::IMPL, "multiway", c10::DispatchKey::CPU, __FILE__, __LINE__);
    auto pass = std::make_unique<Pass>(given[1] == Py_True, given[2], given[3]);
    library->impl(PyUnicode_AsUTF8(given[0]), torch::CppFunction::makeFromBoxedFunctor(std::move(pass)));
    Py_RETURN_NONE;
    END_HANDLE_TH_ERRORS
}

/* start(address of `chain`, address of the launcher or None, work of a thread, derive) */
static PyObject *start(PyObject *, PyObject *const *given, Py_ssize_t) {
    run_chain = reinterpret_cast<decltype(run_chain)>(PyLong_AsVoidPtr(given[0]));
    launcher = given[1] == Py_None ? nullptr : PyLong_AsVoidPtr(given[1]);
    thread_work = PyLong_AsLongLong(given[2]);
    derive = Py_NewRef(given[3]);
    plain_keys = at::empty({1}).key_set().raw_repr();
    Py_RETURN_NONE;
}

#define METHOD(NAME) {#NAME, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(NAME)), METH_FASTCALL, nullptr}
static PyMethodDef methods[] = {METHOD(run), METHOD(serve), METHOD(start), {}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "autograd", nullptr, -1, methods};
PyMODINIT_FUNC PyInit_autograd() { return PyModule_Create(&module); }
